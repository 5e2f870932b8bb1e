/** Which version a worker is of. Told by its session's id, so that no draw of chance hangs on it and the rules can tell as well. */

/** Every third worker is of a version before parking: it neither parks nor puts back. */
export function parks(session: string): boolean {
  const codes = Array.from(session, (character) => character.charCodeAt(0));
  return codes.reduce((sum, code) => sum + code, 0) % 3 !== 0;
}

/** Half of the workers are of a deployment without one of the tasks. */
export function knowsAllTasks(session: string): boolean {
  return (session.codePointAt(session.length - 1) ?? 0) % 2 === 0;
}
