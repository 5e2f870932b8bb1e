/**
 * The habits of the code base that a machine can check; `npx oxlint` checks them in a few seconds.
 * It also reports the errors of TypeScript's compiler, by the tsconfig.json nearest to each file.
 * So `tsc` does not run.
 * Every ban names its replacement; every rule that is off or loosened carries its reason.
 * Which folder may import which is checked by `test/unit/architecture.test.ts`.
 */
import { defineConfig } from 'oxlint';

/** Code that the simulator drives, or whose output must be the same on every run: time and chance come from ports only. */
const PURE = ['shared/**/*.ts', 'functions/**/*.ts', 'infra/**/*.ts'];
/** Where values arrive that users' code has thrown. */
const PRODUCT = ['{shared,functions,infra,api,cli,console,consul}/**/*.ts'];
/** The one place where the ports are given their real implementation. */
const PORTS = ['shared/core/runtime/**/*.ts', 'shared/testing/fake-clock.ts'];
/** Tests that need a real clock disable the rule at their call; simulated ones get theirs from the world. */
const TESTS = ['test/**/*.ts', 'proof/**/*.ts', '{console,consul}/test/**/*.ts'];
/** Where configuration enters; everywhere else it is an argument. */
const READS_ENVIRONMENT = [
  'functions/env.ts',
  'shared/core/environment.ts',
  'shared/dynamo/wire/aws-environment.ts',
  'infra/app.ts',
  'api/command.ts',
  'local/**',
  'bench/**',
  'proof/**',
  'examples/**',
  'release/**',
  'test/**',
  'console/test/**',
  'consul/{bench,test}/**',
  'consul/lambda/env.ts',
  'vitest.config.ts',
];
/** Files whose tool looks for a default export. */
const DEFAULT_EXPORT = [
  '*.config.ts',
  '*.config.js',
  'test/**/global-setup.ts',
  'test/**/*.setup.ts',
  'test/support/house-rules.ts',
  // Edge runtimes look for one.
  'examples/edge/worker.ts',
  'test/support/runtimes/workerd-program.ts',
];

const CLOCK = 'take a Clock (shared/core/runtime/clock.ts)';
const SLEEP = 'use clock.sleep(ms, signal) (shared/core/runtime/clock.ts); no timer may outlive a handler';
const RANDOM = 'take a Random (shared/core/runtime/random.ts)';
const IDS = 'take an Ids (shared/core/runtime/ids.ts)';

const TIMERS = ['setTimeout', 'setInterval', 'setImmediate'];
const CRYPTO_RANDOM = ['randomUUID', 'randomBytes', 'randomInt', 'randomFill', 'randomFillSync', 'getRandomValues'];

const bannedGlobals = [
  ...TIMERS.map((name) => ({ name, message: SLEEP })),
  { name: 'performance', message: `for elapsed time ${CLOCK} and ask monotonic()` },
];

const environmentBan = {
  object: 'process',
  property: 'env',
  message: 'configuration is parsed once, in functions/env.ts; take it as an argument',
};

const bannedProperties = [
  { object: 'Date', property: 'now', message: `${CLOCK} and ask now(), or take the time as a value` },
  { object: 'Math', property: 'random', message: RANDOM },
  { object: 'process', property: 'hrtime', message: `for elapsed time ${CLOCK} and ask monotonic()` },
  {
    object: 'AbortSignal',
    property: 'timeout',
    message: 'it runs on a real timer: abort a controller after clock.sleep',
  },
  ...CRYPTO_RANDOM.map((property) => ({ object: 'crypto', property, message: IDS })),
  ...[...TIMERS, 'performance', 'crypto'].map((property) => ({
    object: 'globalThis',
    property,
    message: 'the ports in shared/core/runtime are the only way to time, chance and identity',
  })),
];

const bannedImports = [
  ...['node:crypto', 'crypto'].map((name) => ({
    name,
    importNames: [...CRYPTO_RANDOM, 'webcrypto', 'default'],
    message: IDS,
  })),
  ...['node:timers', 'timers', 'node:timers/promises', 'timers/promises'].map((name) => ({
    name,
    message: SLEEP,
  })),
  ...['node:perf_hooks', 'perf_hooks'].map((name) => ({ name, message: `for elapsed time ${CLOCK}` })),
];

const environmentImportBan = ['node:process', 'process'].map((name) => ({
  name,
  importNames: ['env'],
  message: environmentBan.message,
}));

/** The rules that typescript-eslint calls strict and stylistic, with types. */
const STRICT = `
  adjacent-overload-signatures array-type await-thenable ban-tslint-comment class-literal-property-style
  consistent-generic-constructors consistent-indexed-object-style consistent-type-assertions dot-notation
  explicit-module-boundary-types no-array-delete no-base-to-string no-confusing-non-null-assertion no-deprecated
  no-duplicate-enum-values no-duplicate-type-constituents no-dynamic-delete no-empty-object-type no-explicit-any
  no-extra-non-null-assertion no-extraneous-class no-floating-promises no-for-in-array no-implied-eval
  no-inferrable-types no-invalid-void-type no-meaningless-void-operator no-misused-new no-misused-promises
  no-misused-spread no-mixed-enums no-namespace no-non-null-asserted-nullish-coalescing
  no-non-null-asserted-optional-chain no-non-null-assertion no-redundant-type-constituents no-require-imports
  no-this-alias no-unnecessary-boolean-literal-compare no-unnecessary-template-expression
  no-unnecessary-type-arguments no-unnecessary-type-assertion no-unnecessary-type-constraint
  no-unnecessary-type-conversion no-unnecessary-type-parameters no-unsafe-argument no-unsafe-assignment
  no-unsafe-call no-unsafe-declaration-merging no-unsafe-enum-comparison no-unsafe-function-type
  no-unsafe-member-access no-unsafe-return no-unsafe-unary-minus no-useless-default-assignment
  no-wrapper-object-types non-nullable-type-assertion-style only-throw-error prefer-as-const prefer-find
  prefer-for-of prefer-function-type prefer-includes prefer-literal-enum-member prefer-namespace-keyword
  prefer-nullish-coalescing prefer-optional-chain prefer-promise-reject-errors prefer-reduce-type-parameter
  prefer-regexp-exec prefer-return-this-type prefer-string-starts-ends-with related-getter-setter-pairs
  strict-void-return triple-slash-reference unbound-method unified-signatures
  use-unknown-in-catch-callback-variable
`;
const strictTypes = Object.fromEntries(
  STRICT.trim()
    .split(/\s+/)
    .map((name) => [`typescript/${name}`, 'error' as const]),
);

export default defineConfig({
  // The consumer's imports resolve only where the package is installed: `npm run test:package` checks them.
  ignorePatterns: ['node_modules/', 'cdk.out/', 'coverage/', 'dist/', '.leasehold/', 'release/consumer/'],
  plugins: ['typescript', 'import'],
  jsPlugins: [{ name: 'house', specifier: './test/support/house-rules.ts' }],
  categories: { correctness: 'off' },
  options: { typeAware: true, typeCheck: true, reportUnusedDisableDirectives: 'error' },
  rules: {
    eqeqeq: 'error',
    'no-array-constructor': 'error',
    'no-constant-condition': ['error', { checkLoops: 'allExceptWhileTrue' }],
    'no-else-return': 'error',
    'no-empty': 'error',
    'no-empty-function': 'error',
    'no-fallthrough': 'error',
    'no-param-reassign': 'error',
    'no-promise-executor-return': 'error',
    'no-unsafe-finally': 'error',
    'no-unsafe-optional-chaining': 'error',
    'no-unused-expressions': 'error',
    'no-useless-constructor': 'error',
    'no-var': 'error',
    'object-shorthand': 'error',
    'prefer-const': 'error',
    'prefer-rest-params': 'error',
    'prefer-spread': 'error',
    // A name is searched for, renamed and imported as one word everywhere.
    'import/no-default-export': 'error',
    // A variable named `_` says that it is not read.
    'no-unused-vars': [
      'error',
      { argsIgnorePattern: '^_', varsIgnorePattern: '^_', destructuredArrayIgnorePattern: '^_' },
    ],
  },
  overrides: [
    {
      files: ['**/*.ts'],
      rules: {
        ...strictTypes,
        'typescript/ban-ts-comment': ['error', { minimumDescriptionLength: 10 }],
        'typescript/consistent-type-imports': ['error', { prefer: 'type-imports' }],
        'typescript/return-await': ['error', 'error-handling-correctness-only'],
        'typescript/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
        'typescript/restrict-plus-operands': [
          'error',
          {
            allowAny: false,
            allowBoolean: false,
            allowNullish: false,
            allowNumberAndString: false,
            allowRegExp: false,
          },
        ],
        // Numbers in messages are the point of our messages; objects and nullish values stay forbidden.
        'typescript/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
        // `while (true)` with an early return is how a bounded retry loop reads best.
        'typescript/no-unnecessary-condition': ['error', { allowConstantLoopConditions: 'only-allowed-literals' }],
        // `() => emit()` for a callback that returns void is shorter and says the same.
        'typescript/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
        'no-restricted-properties': ['error', environmentBan],
        'no-restricted-imports': ['error', { paths: environmentImportBan }],
      },
    },
    { files: READS_ENVIRONMENT, rules: { 'no-restricted-properties': 'off', 'no-restricted-imports': 'off' } },
    {
      files: PURE,
      rules: {
        'no-restricted-globals': ['error', ...bannedGlobals],
        'no-restricted-properties': ['error', ...bannedProperties, environmentBan],
        'no-restricted-imports': ['error', { paths: [...bannedImports, ...environmentImportBan] }],
        'house/date-with-argument': 'error',
      },
    },
    {
      // Workflows in the SDK's own style: their inputs and results are whatever a public requirement says.
      files: ['test/conformance/durable/*.ts'],
      rules: {
        'typescript/no-unsafe-argument': 'off',
        'typescript/no-unsafe-assignment': 'off',
        'typescript/no-unsafe-call': 'off',
        'typescript/no-unsafe-member-access': 'off',
        'typescript/no-unsafe-return': 'off',
        'typescript/restrict-plus-operands': 'off',
      },
    },
    { files: PRODUCT, rules: { 'house/message-of-thrown': 'error' } },
    {
      // The pure folders' entries for configuration: everything else stays banned there.
      files: [
        'functions/env.ts',
        'infra/app.ts',
        'shared/core/environment.ts',
        'shared/dynamo/wire/aws-environment.ts',
      ],
      rules: {
        'no-restricted-properties': ['error', ...bannedProperties],
        'no-restricted-imports': ['error', { paths: bannedImports }],
      },
    },
    {
      files: PORTS,
      rules: {
        'no-restricted-globals': 'off',
        'no-restricted-properties': ['error', environmentBan],
        'no-restricted-imports': ['error', { paths: environmentImportBan }],
        'house/date-with-argument': 'off',
      },
    },
    {
      files: TESTS,
      rules: {
        'house/unique-titles': 'error',
        // Test bodies say what they mean; the compiler already knows what comes out of them.
        'typescript/explicit-module-boundary-types': 'off',
        // `expect(list[0]!.id)` fails with the index in the message, which is what a test wants.
        'typescript/no-non-null-assertion': 'off',
        // Fakes implement ports with methods that have nothing to do.
        'no-empty-function': 'off',
      },
    },
    {
      // Every number of the task picker stands in one file, with the bench that set it.
      files: ['shared/tasks/picker/!(tuning).ts'],
      rules: { 'no-magic-numbers': ['error', { ignore: [-1, 0, 1, 2] }] },
    },
    {
      // `new Construct(scope, id)` draws itself into the tree: the instance is often not needed.
      files: ['infra/**/*.ts', 'test/infra/**/*.ts'],
      rules: { 'typescript/no-extraneous-class': 'off' },
    },
    // The tests of Node's own runner: nobody awaits what `test` returns.
    { files: ['examples/project/test/*.ts'], rules: { 'typescript/no-floating-promises': 'off' } },
    { files: DEFAULT_EXPORT, rules: { 'import/no-default-export': 'off' } },
  ],
});
