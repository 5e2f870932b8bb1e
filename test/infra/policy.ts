/**
 * Evaluates the permissions of a synthesized template: the part of IAM's evaluation that our policies use.
 * Anything unknown (another operator, another condition key, a wildcard) is an error, not a guess.
 */
import type { Template } from 'aws-cdk-lib/assertions';

export interface Request {
  readonly action: string;
  /** Logical id of the resource, and the suffix of its ARN: `/index/ready`. */
  readonly resource: string;
  /** Partition keys that the request names; absent if it names none (a Scan). */
  readonly leadingKeys?: readonly string[];
  /** Attributes that the request mentions, in its row, condition and effect. */
  readonly attributes?: readonly string[];
  /** The returned part of the written row. */
  readonly returnValues?: string | undefined;
}

export interface Statement {
  readonly Effect: string;
  readonly Action: string | readonly string[];
  readonly Resource: unknown;
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

interface Policy {
  readonly PolicyDocument: { readonly Statement: readonly Statement[] };
  readonly Roles?: readonly { readonly Ref: string }[];
  readonly Users?: readonly { readonly Ref: string }[];
}

/** All statements that a role or user (by logical id) gets in the template. */
export function statementsOf(template: Template, principal: string): Statement[] {
  return policiesOf(template)
    .filter(({ Roles = [], Users = [] }) => [...Roles, ...Users].some(({ Ref }) => Ref === principal))
    .flatMap(({ PolicyDocument }) => PolicyDocument.Statement);
}

export function policiesOf(template: Template): Policy[] {
  return Object.values(template.findResources('AWS::IAM::Policy')).map(({ Properties }) => Properties as Policy);
}

export function isAllowed(statements: readonly Statement[], request: Request): boolean {
  return statements.some((statement) => {
    if (statement.Effect !== 'Allow') throw new Error(`this evaluation does not know the effect ${statement.Effect}`);
    return (
      [statement.Action].flat().includes(request.action) &&
      [statement.Resource].flat().map(resourceName).includes(request.resource) &&
      Object.entries(statement.Condition ?? {}).every(([operator, keys]) =>
        Object.entries(keys).every(([key, expected]) => holds(operator, key, expected, request)),
      )
    );
  });
}

function holds(operator: string, key: string, expected: unknown, request: Request): boolean {
  const { leadingKeys, attributes = [], returnValues } = request;
  if (key === 'dynamodb:ReturnValues' && operator === 'StringEqualsIfExists')
    return returnValues === undefined || [expected].flat().includes(returnValues);
  if (key === 'dynamodb:Attributes' && operator === 'ForAllValues:StringEquals')
    return attributes.every((attribute) => [expected].flat().includes(attribute));
  if (key !== 'dynamodb:LeadingKeys') throw new Error(`this evaluation does not know the condition key ${key}`);
  switch (operator) {
    case 'Null':
      return (leadingKeys === undefined) === (expected === 'true');
    case 'ForAllValues:StringLike': {
      const patterns = [expected].flat().map((pattern) => likeness(String(pattern)));
      // True for a request without keys: IAM's well-known trap, repeated here so that the tests can fall into it.
      return (leadingKeys ?? []).every((leadingKey) => patterns.some((pattern) => pattern.test(leadingKey)));
    }
    default:
      throw new Error(`this evaluation does not know the operator ${operator}`);
  }
}

function likeness(pattern: string): RegExp {
  if (/[?$]/.test(pattern)) throw new Error(`this evaluation does not know what ${pattern} means`);
  return new RegExp(`^${pattern.replaceAll(/[.+^()|[\]\\{}]/g, '\\$&').replaceAll('*', '.*')}$`, 's');
}

/** `{Fn::GetAtt: [X, Arn]}` is X, `{Fn::GetAtt: [X, StreamArn]}` X/stream, `{Fn::Join: ['', [that, '/index/ready']]}` is X/index/ready. */
export function resourceName(resource: unknown): string {
  if (typeof resource === 'string') return resource;
  const { 'Fn::GetAtt': attribute, 'Fn::Join': join } = resource as {
    'Fn::GetAtt'?: [string, string];
    'Fn::Join'?: [string, unknown[]];
  };
  if (attribute?.[1] === 'Arn') return attribute[0];
  if (attribute?.[1] === 'StreamArn') return `${attribute[0]}/stream`;
  if (join?.[0] === '') return join[1].map(resourceName).join('');
  throw new Error(`this evaluation does not know the resource ${JSON.stringify(resource)}`);
}
