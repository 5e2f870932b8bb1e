/**
 * DynamoDB's numbers: decimal, 38 significant digits, from 1E-130 to just under 1E+126.
 *
 * Almost every number that a program stores is a JavaScript number and stays one.
 * A larger integer is a `bigint`, and what neither can hold is an `ExactNumber`, decimal text.
 * Each value has one canonical form, so that equality of forms is equality of numbers.
 */
import type { WrappedNumber } from '../../dynamo/engine/capacity.ts';
import { significantDigits } from '../../dynamo/engine/capacity.ts';
import { validationFault } from './fault.ts';

export type StoredNumber = number | bigint | ExactNumber;

/** Has the shape of the document client's `NumberValue`. */
export class ExactNumber implements WrappedNumber {
  readonly value: string;

  constructor(value: string) {
    this.value = value;
  }

  toAttributeValue(): { N: string } {
    return { N: this.value };
  }

  toString(): string {
    return this.value;
  }
}

export function isWrappedNumber(value: object): value is WrappedNumber {
  return 'toAttributeValue' in value && typeof value.toAttributeValue === 'function';
}

/**
 * The canonical form of a number that a request brings.
 * @throws DynamoFault beyond DynamoDB's range, or for a JavaScript number that is no longer exact
 */
export function storedNumber(value: number | bigint | WrappedNumber): StoredNumber {
  if (typeof value === 'number') {
    if (Number.isSafeInteger(value)) return value + 0; // turns -0 into 0
    if (!Number.isFinite(value)) throw validationFault(`Special numeric value ${value} is not allowed`);
    if (Math.abs(value) > Number.MAX_SAFE_INTEGER) {
      throw validationFault(`Number ${value} is not exact. Use a bigint or NumberValue from @aws-sdk/lib-dynamodb.`);
    }
  }
  return canonical(decimalOf(value));
}

/** Negative, zero or positive, as `left` is below, equal to or above `right`. */
export function compareNumbers(left: StoredNumber, right: StoredNumber): number {
  if (typeof left === 'object' || typeof right === 'object') {
    const [a, b] = aligned(decimalOf(left), decimalOf(right));
    return a < b ? -1 : a > b ? 1 : 0;
  }
  return left < right ? -1 : left > right ? 1 : 0;
}

/** @throws DynamoFault if the exact result does not fit into 38 digits: the service does not round */
export function addNumbers(left: StoredNumber, right: StoredNumber): StoredNumber {
  if (typeof left === 'number' && typeof right === 'number') {
    const sum = left + right;
    if (Number.isSafeInteger(left) && Number.isSafeInteger(right) && Number.isSafeInteger(sum)) return sum;
  }
  const a = decimalOf(left);
  const b = decimalOf(right);
  const [x, y, exponent] = aligned(a, b);
  return canonical({ mantissa: x + y, exponent });
}

export function subtractNumbers(left: StoredNumber, right: StoredNumber): StoredNumber {
  const opposite = typeof right === 'object' ? new ExactNumber(negated(right.value)) : -right;
  return addNumbers(left, opposite);
}

/** `mantissa × 10^exponent` */
interface Decimal {
  readonly mantissa: bigint;
  readonly exponent: number;
}

const MAXIMUM_DIGITS = 38;
const LARGEST_MAGNITUDE = 125;
const SMALLEST_MAGNITUDE = -130;

function decimalOf(value: number | bigint | WrappedNumber): Decimal {
  const text = String(value);
  if (!/^[-+]?(\d+(?:\.\d*)?|\.\d+)(e[-+]?\d+)?$/i.test(text)) {
    throw validationFault(`The parameter cannot be converted to a numeric value: ${text}`);
  }
  const { isNegative, digits, point } = significantDigits(text);
  if (digits === '') return { mantissa: 0n, exponent: 0 };
  const magnitude = BigInt(digits);
  return { mantissa: isNegative ? -magnitude : magnitude, exponent: point - digits.length };
}

function aligned(left: Decimal, right: Decimal): [bigint, bigint, number] {
  const exponent = Math.min(left.exponent, right.exponent);
  return [
    left.mantissa * 10n ** BigInt(left.exponent - exponent),
    right.mantissa * 10n ** BigInt(right.exponent - exponent),
    exponent,
  ];
}

function canonical({ mantissa, exponent }: Decimal): StoredNumber {
  const text = `${mantissa}e${exponent}`;
  const { digits, point } = significantDigits(text);
  if (digits === '') return 0;
  if (point - 1 > LARGEST_MAGNITUDE) {
    throw validationFault('Number overflow. Attempting to store a number with magnitude larger than supported range');
  }
  if (point - 1 < SMALLEST_MAGNITUDE) {
    throw validationFault('Number underflow. Attempting to store a number with magnitude smaller than supported range');
  }
  if (digits.length > MAXIMUM_DIGITS) {
    throw validationFault('Attempting to store more than 38 significant digits in a Number');
  }
  return narrowest(text, { mantissa, exponent });
}

function narrowest(text: string, decimal: Decimal): StoredNumber {
  const nearest = Number(text);
  const isInteger = decimal.exponent >= 0 || decimal.mantissa % 10n ** BigInt(-decimal.exponent) === 0n;
  if (isInteger) {
    if (Number.isSafeInteger(nearest)) return nearest;
    const scale = 10n ** BigInt(Math.abs(decimal.exponent));
    return decimal.exponent >= 0 ? decimal.mantissa * scale : decimal.mantissa / scale;
  }
  const [a, b] = aligned(decimalOf(nearest), decimal);
  return a === b ? nearest : new ExactNumber(exactText(text));
}

/** One spelling for one number: no exponent, no zeros at the ends. */
function exactText(text: string): string {
  const { isNegative, digits, point } = significantDigits(text);
  const sign = isNegative ? '-' : '';
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`;
  return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`;
}

function negated(text: string): string {
  return text.startsWith('-') ? text.slice(1) : `-${text}`;
}
