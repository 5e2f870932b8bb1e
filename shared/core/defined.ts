/** Optional fields: under `exactOptionalPropertyTypes` a field is left out, because `undefined` is not one of its values. */
type Defined<Fields> = {
  [Name in keyof Fields as undefined extends Fields[Name] ? never : Name]: Fields[Name];
} & { [Name in keyof Fields as undefined extends Fields[Name] ? Name : never]?: Exclude<Fields[Name], undefined> };

/** Returns the fields without the undefined ones. */
export function defined<Fields extends object>(fields: Fields): Defined<Fields> {
  const found: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields as Record<string, unknown>))
    if (value !== undefined) found[name] = value;
  return found as Defined<Fields>;
}
