/**
 * What CloudWatch does with lines of the embedded metric format and with an alarm,
 * as far as our alarms need it: group by namespace, name and
 * exact set of dimensions; bucket by period; take the statistic; compare; count M of N; treat what is missing.
 * What it does not know, it refuses.
 */
export interface DataPoint {
  readonly namespace: string;
  readonly name: string;
  readonly dimensions: Readonly<Record<string, string>>;
  readonly value: number;
  /** Milliseconds since 1970. */
  readonly at: number;
}

type AlarmState = 'OK' | 'ALARM';

/** Properties of a synthesized `AWS::CloudWatch::Alarm`; references stand for themselves, as `{ Ref: 'LogicalId' }`. */
export interface AlarmProperties {
  readonly AlarmDescription: string;
  readonly ComparisonOperator: string;
  readonly EvaluationPeriods: number;
  readonly DatapointsToAlarm: number;
  readonly Threshold: number;
  readonly TreatMissingData: string;
  readonly Namespace?: string;
  readonly MetricName?: string;
  readonly Dimensions?: readonly Dimension[];
  readonly Period?: number;
  readonly Statistic?: string;
  readonly Metrics?: readonly MetricQuery[];
}

interface Dimension {
  readonly Name: string;
  readonly Value: string | { readonly Ref: string } | { readonly 'Fn::GetAtt': readonly [string, string] };
}

interface MetricQuery {
  readonly Id: string;
  readonly Expression?: string;
  readonly ReturnData?: boolean;
  readonly MetricStat?: {
    readonly Metric: {
      readonly Namespace: string;
      readonly MetricName: string;
      readonly Dimensions: readonly Dimension[];
    };
    readonly Period: number;
    readonly Stat: string;
  };
}

interface EmbeddedLine {
  readonly _aws: {
    readonly Timestamp: number;
    readonly CloudWatchMetrics: readonly {
      readonly Namespace: string;
      readonly Dimensions: readonly (readonly string[])[];
      readonly Metrics: readonly { readonly Name: string }[];
    }[];
  };
}

/** The values that a process has printed; lines that are no metrics are passed over, as CloudWatch does. */
export function dataPointsOf(output: string): DataPoint[] {
  return output.split('\n').flatMap((line) => {
    const record = parsed(line);
    if (record === undefined) return [];
    const fields = record as unknown as Record<string, number | readonly number[] | string>;
    return record._aws.CloudWatchMetrics.flatMap(({ Namespace, Dimensions, Metrics }) =>
      Dimensions.flatMap((names) =>
        Metrics.flatMap(({ Name }) =>
          [fields[Name]].flat().map((value) => ({
            namespace: Namespace,
            name: Name,
            value: Number(value),
            at: record._aws.Timestamp,
            dimensions: Object.fromEntries(names.map((name) => [name, String(fields[name])])),
          })),
        ),
      ),
    );
  });
}

function parsed(line: string): EmbeddedLine | undefined {
  if (!line.startsWith('{') || !line.includes('"_aws"')) return undefined;
  return JSON.parse(line) as EmbeddedLine;
}

/** The alarm's state at a moment, with nothing but its last whole periods to go by. */
export function stateAt(alarm: AlarmProperties, points: readonly DataPoint[], now: number): AlarmState {
  const periodMs = periodOf(alarm) * 1_000;
  const current = Math.floor(now / periodMs);
  const window = Array.from({ length: alarm.EvaluationPeriods }, (_, back) => current - 1 - back);
  const values = window.map((period) =>
    valueOf(
      alarm,
      points.filter(({ at }) => Math.floor(at / periodMs) === period),
    ),
  );
  return values.filter((value) => isBreaching(alarm, value)).length >= alarm.DatapointsToAlarm ? 'ALARM' : 'OK';
}

function isBreaching(alarm: AlarmProperties, value: number | undefined): boolean {
  if (alarm.ComparisonOperator !== 'GreaterThanOrEqualToThreshold') throw unknown(alarm.ComparisonOperator);
  if (value !== undefined) return value >= alarm.Threshold;
  if (!['breaching', 'notBreaching', 'ignore'].includes(alarm.TreatMissingData)) throw unknown(alarm.TreatMissingData);
  return alarm.TreatMissingData === 'breaching';
}

function periodOf({ Period, Metrics = [] }: AlarmProperties): number {
  const periods = new Set(
    [Period, ...Metrics.map(({ MetricStat }) => MetricStat?.Period)].filter((p) => p !== undefined),
  );
  const [period] = periods;
  if (periods.size !== 1 || period === undefined) throw unknown(`periods ${[...periods].join()}`);
  return period;
}

function valueOf(alarm: AlarmProperties, points: readonly DataPoint[]): number | undefined {
  const { Namespace = '', MetricName = '', Dimensions = [], Statistic = '', Metrics } = alarm;
  if (Metrics === undefined) return statistic(Statistic, points.filter(isOf(Namespace, MetricName, Dimensions)));
  const read = (id: string): number | undefined => {
    const query = Metrics.find(({ Id }) => Id === id);
    if (query === undefined) throw unknown(`metric ${id}`);
    if (query.Expression !== undefined) return new Expression(query.Expression, read).evaluate();
    const { Metric, Stat } = query.MetricStat!;
    return statistic(Stat, points.filter(isOf(Metric.Namespace, Metric.MetricName, Metric.Dimensions)));
  };
  const returned = Metrics.filter(({ ReturnData }) => ReturnData !== false);
  if (returned.length !== 1) throw unknown(`${returned.length} results`);
  return read(returned[0]!.Id);
}

function isOf(namespace: string, name: string, dimensions: readonly Dimension[]) {
  const wanted = shown(Object.fromEntries(dimensions.map(({ Name, Value }) => [Name, text(Value)])));
  return (point: DataPoint): boolean =>
    point.namespace === namespace && point.name === name && shown(point.dimensions) === wanted;
}

function text(value: Dimension['Value']): string {
  if (typeof value === 'string') return value;
  return 'Ref' in value ? value.Ref : value['Fn::GetAtt'][0];
}

function shown(dimensions: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.entries(dimensions).sort());
}

function statistic(name: string, points: readonly DataPoint[]): number | undefined {
  const values = points.map(({ value }) => value);
  if (values.length === 0) return undefined;
  if (name === 'Sum') return values.reduce((sum, value) => sum + value, 0);
  if (name === 'Maximum') return Math.max(...values);
  if (name === 'SampleCount') return values.length;
  throw unknown(name);
}

/** Metric math: numbers, names, `+ - * / >= > == AND`, parentheses, `IF`, `FILL`. Elsewhere an operand without data leaves the whole without. */
class Expression {
  readonly #tokens: string[];
  readonly #read: (id: string) => number | undefined;

  constructor(source: string, read: (id: string) => number | undefined) {
    this.#tokens = source.match(/[A-Za-z]\w*|\d+(?:\.\d+)?|>=|==|[-+*/(),>]|\S/g) ?? [];
    this.#read = read;
  }

  evaluate(): number | undefined {
    const value = this.#conjunction();
    if (this.#tokens.length > 0) throw unknown(this.#tokens.join(' '));
    return value;
  }

  #conjunction(): number | undefined {
    let value = this.#comparison();
    while (this.#take('AND')) value = apply(value, this.#comparison(), (a, b) => Number(a !== 0 && b !== 0));
    return value;
  }

  #comparison(): number | undefined {
    const left = this.#sum();
    if (this.#take('>=')) return apply(left, this.#sum(), (a, b) => Number(a >= b));
    if (this.#take('==')) return apply(left, this.#sum(), (a, b) => Number(a === b));
    return this.#take('>') ? apply(left, this.#sum(), (a, b) => Number(a > b)) : left;
  }

  #sum(): number | undefined {
    let value = this.#product();
    for (;;) {
      if (this.#take('+')) value = apply(value, this.#product(), (a, b) => a + b);
      else if (this.#take('-')) value = apply(value, this.#product(), (a, b) => a - b);
      else return value;
    }
  }

  #product(): number | undefined {
    let value = this.#operand();
    for (;;) {
      if (this.#take('*')) value = apply(value, this.#operand(), (a, b) => a * b);
      else if (this.#take('/')) value = apply(value, this.#operand(), (a, b) => (b === 0 ? undefined : a / b));
      else return value;
    }
  }

  #operand(): number | undefined {
    const token = this.#tokens.shift() ?? '';
    if (token === '(') return this.#closed(this.#conjunction());
    if (/^\d/.test(token)) return Number(token);
    if (!/^[A-Za-z]/.test(token)) throw unknown(token);
    if (!this.#take('(')) return this.#read(token);
    if (token === 'FILL') {
      const [value, otherwise] = [this.#conjunction(), this.#closed(this.#next())];
      return value ?? otherwise;
    }
    if (token !== 'IF') throw unknown(token);
    const [condition, yes, no] = [this.#conjunction(), this.#next(), this.#closed(this.#next())];
    if (condition === undefined) return undefined;
    return condition === 0 ? no : yes;
  }

  #next(): number | undefined {
    if (!this.#take(',')) throw unknown(this.#tokens.join(' '));
    return this.#conjunction();
  }

  #closed(value: number | undefined): number | undefined {
    if (!this.#take(')')) throw unknown(this.#tokens.join(' '));
    return value;
  }

  #take(token: string): boolean {
    if (this.#tokens[0] !== token) return false;
    this.#tokens.shift();
    return true;
  }
}

function apply(
  left: number | undefined,
  right: number | undefined,
  how: (left: number, right: number) => number | undefined,
): number | undefined {
  return left === undefined || right === undefined ? undefined : how(left, right);
}

function unknown(what: string): Error {
  return new Error(`this CloudWatch does not know ${JSON.stringify(what)}`);
}
