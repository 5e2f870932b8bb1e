/** A function can be named in four ways; all of them lead to a name and, perhaps, a qualifier. */

/** The account number of emulators; no real account has it. */
const LOCAL_ACCOUNT_ID = '000000000000';
export const LOCAL_REGION = 'us-east-1';

export interface FunctionReference {
  readonly name: string;
  /** A version or alias. There is one version of the code here, so it changes nothing but the invoked ARN. */
  readonly qualifier: string | undefined;
}

const ARN = /^arn:aws[a-z-]*:lambda:[a-z0-9-]+:\d{12}:function:([A-Za-z0-9-_]+)(?::([A-Za-z0-9$_-]+))?$/;
const PARTIAL_ARN = /^\d{12}:function:([A-Za-z0-9-_]+)(?::([A-Za-z0-9$_-]+))?$/;
const NAME = /^([A-Za-z0-9-_]+)(?::([A-Za-z0-9$_-]+))?$/;

/** `name`, `name:alias`, `account:function:name` or the full ARN; `undefined` for other text. */
export function parseFunctionReference(text: string): FunctionReference | undefined {
  const match = ARN.exec(text) ?? PARTIAL_ARN.exec(text) ?? NAME.exec(text);
  return match?.[1] === undefined ? undefined : { name: match[1], qualifier: match[2] };
}

export function functionArn({ name, qualifier }: FunctionReference): string {
  const arn = `arn:aws:lambda:${LOCAL_REGION}:${LOCAL_ACCOUNT_ID}:function:${name}`;
  return qualifier === undefined ? arn : `${arn}:${qualifier}`;
}
