/**
 * Every conjunct of every guard, generated from the list of all statements; and requests in which one of them holds whatever the row says.
 */
import { readFileSync } from 'node:fs';

export interface Conjunct {
  /** The statement that it guards. */
  readonly verb: string;
  readonly condition: string;
  /** Absent: the statement puts or deletes. */
  readonly update: string | undefined;
  /** The one that is dropped. */
  readonly conjunct: string;
  /** The condition without it; every name and value is still used, as the service demands. */
  readonly mutated: string;
}

const STATEMENTS = new URL('../../unit/dynamo/statements.golden.md', import.meta.url);

/** Of all statements, each once. */
export function allConjuncts(text: string = readFileSync(STATEMENTS, 'utf8')): readonly Conjunct[] {
  const found = new Map<string, Conjunct>();
  let verb = '';
  let condition: string | undefined;
  const take = (update: string | undefined): void => {
    if (condition === undefined) return;
    for (const dropped of conjunctsOf(verb, condition, update))
      found.set(`${verb}\n${condition}\n${update}\n${dropped.conjunct}`, dropped);
    condition = undefined;
  };
  for (const line of text.split('\n')) {
    const [, name, value] = /^\s*- (\w+): `(.*)`$/.exec(line) ?? [];
    if (name === 'ConditionExpression') {
      take(undefined);
      condition = value;
    } else if (name === 'UpdateExpression') take(value);
    else if (line.startsWith('#')) {
      take(undefined);
      verb = line.replace(/^#+ /, '');
    }
  }
  take(undefined);
  return [...found.values()];
}

function conjunctsOf(verb: string, condition: string, update: string | undefined): readonly Conjunct[] {
  const parts = splitAtAnd(condition);
  return parts.map((conjunct, dropped) => ({
    ...{ verb, condition, update, conjunct },
    mutated: parts
      .map((part, at) => (at === dropped ? `(${enclosed(part)} OR NOT ${enclosed(part)})` : enclosed(part)))
      .join(' AND '),
  }));
}

/** In parentheses, once: the service refuses those that are redundant. */
function enclosed(part: string): string {
  let depth = 0;
  for (let at = 0; at < part.length; at++) {
    if (part[at] === '(') depth++;
    if (part[at] === ')') depth--;
    if (depth === 0 && at < part.length - 1) return `(${part})`;
  }
  return part;
}

/** At those ANDs that stand in no parentheses; a condition with an OR outside of them is one conjunct. */
export function splitAtAnd(condition: string): readonly string[] {
  const parts: string[] = [''];
  let depth = 0;
  for (const token of condition.split(/(\(|\)| AND | OR )/)) {
    if (token === '(') depth++;
    if (token === ')') depth--;
    if (depth === 0 && token === ' OR ') return [condition];
    if (depth === 0 && token === ' AND ') parts.push('');
    else parts.push(`${parts.pop() ?? ''}${token}`);
  }
  return parts;
}

interface Write {
  readonly ConditionExpression?: string;
  readonly UpdateExpression?: string;
  readonly TransactItems?: readonly Readonly<Record<string, Write>>[];
}

/** A request as it would be sent without the conjunct; `onSent` is told whenever it makes a difference to what is sent. */
export function withoutConjunct<Input>(input: Input, conjunct: Conjunct, onSent: () => void): Input {
  const write = input as Write;
  if (write.TransactItems !== undefined) {
    const items = write.TransactItems.map((item) =>
      Object.fromEntries(Object.entries(item).map(([kind, part]) => [kind, withoutConjunct(part, conjunct, onSent)])),
    );
    return { ...input, TransactItems: items };
  }
  if (write.ConditionExpression !== conjunct.condition || write.UpdateExpression !== conjunct.update) return input;
  onSent();
  return { ...input, ConditionExpression: conjunct.mutated };
}
