/** Checks that all requests share: enumerations, and legacy parameters from before expressions. */
import { constraintFault, notSimulated } from './fault.ts';

/** @returns the value if it is one of the allowed ones, nothing if it was not given */
export function oneOf<Value extends string>(
  parameter: string,
  value: string | undefined,
  allowed: readonly Value[],
): Value | undefined {
  if (value === undefined) return undefined;
  const found = allowed.find((candidate) => candidate === value);
  if (found !== undefined) return found;
  throw constraintFault(
    `Value '${value}' at '${parameter}'`,
    `Member must satisfy enum value set: [${allowed.join(', ')}]`,
  );
}

/** Superseded by expressions in 2014; half an answer to them would be worse than none. */
const LEGACY = [
  ...['AttributesToGet', 'AttributeUpdates', 'ConditionalOperator', 'Expected'],
  ...['KeyConditions', 'QueryFilter', 'ScanFilter'],
];

/** @throws DynamoFault */
export function refuseLegacy(request: object): void {
  const parameters = request as Readonly<Record<string, unknown>>;
  for (const parameter of LEGACY) if (parameters[parameter] !== undefined) throw notSimulated(parameter);
}
