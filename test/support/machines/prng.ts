/**
 * Chance that can be replayed: sfc32 (Chris Doty-Humphrey, PractRand), seeded through splitmix32.
 * One 64-bit seed is the root of a history; every actor forks its own stream by name, so that one actor's draws never shift another's.
 */
import type { Random } from '../../../shared/core/runtime/random.ts';

export class Prng implements Random {
  readonly #seedHigh: number;
  readonly #seedLow: number;
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(seed: bigint) {
    this.#seedHigh = Number(BigInt.asUintN(32, seed >> 32n));
    this.#seedLow = Number(BigInt.asUintN(32, seed));
    this.#a = splitmix32(this.#seedLow);
    this.#b = splitmix32(this.#seedHigh ^ this.#a);
    this.#c = splitmix32(this.#seedLow ^ this.#b);
    for (let warmUp = 0; warmUp < 12; warmUp++) this.#word();
  }

  /** An independent named stream; the same name gives the same stream regardless of earlier draws here. */
  fork(name: string): Prng {
    let high = this.#seedHigh;
    let low = this.#seedLow;
    for (let index = 0; index < name.length; index++) {
      low = splitmix32(low ^ name.charCodeAt(index));
      high = splitmix32(high ^ low);
    }
    return new Prng((BigInt(high) << 32n) | BigInt(low));
  }

  next(): number {
    return this.#word() / 4_294_967_296;
  }

  chance(probability: number): boolean {
    return probability > 0 && this.next() < probability;
  }

  /** Uniform in [low, high). */
  between(low: number, high: number): number {
    return low + this.next() * (high - low);
  }

  /** Uniform whole number in [low, high]. */
  integer(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  /** Uniform in the logarithm: as often between 1 and 10 as between 10 and 100. */
  logarithmic(low: number, high: number): number {
    return low * (high / low) ** this.next();
  }

  /** Waiting times of a Poisson process. */
  exponential(mean: number): number {
    return -mean * Math.log(1 - this.next());
  }

  pick<T>(choices: readonly T[]): T {
    return choices[Math.floor(this.next() * choices.length)] as T;
  }

  #word(): number {
    const sum = (this.#a + this.#b + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum;
    return sum >>> 0;
  }
}

function splitmix32(state: number): number {
  let mixed = (state + 0x9e3779b9) | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
  return (mixed ^ (mixed >>> 15)) >>> 0;
}
