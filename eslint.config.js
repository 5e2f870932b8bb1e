/**
 * The habits of the code base that a machine can check.
 * Every ban names its replacement; every rule that is off or loosened carries its reason.
 * Which folder may import which is checked by `test/unit/architecture.test.ts`.
 */
import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';

/** Code that the simulator drives, or whose output must be the same on every run: time and chance come from ports only. */
const PURE = ['shared/**/*.ts', 'functions/**/*.ts', 'infra/**/*.ts'];
/** The one place where the ports are given their real implementation. */
const PORTS = ['shared/runtime/**/*.ts'];
/** Tests that need a real clock say so at their own call; simulated ones get theirs from the world. */
const TESTS = ['test/**/*.ts'];
/** Where configuration enters; everywhere else it is an argument. */
const READS_ENVIRONMENT = [
  'functions/env.ts',
  'shared/environment.ts',
  'shared/dynamo/wire/environment.ts',
  'infra/app.ts',
  'cli/main.ts',
  'local/**',
  'bench/**',
  'examples/**',
  'release/**',
  'test/**',
  'vitest.config.ts',
];
/** Files whose tool looks for a default export. */
const DEFAULT_EXPORT = ['*.config.ts', '*.config.js', 'test/**/global-setup.ts', 'test/**/*.setup.ts'];

const CLOCK = 'take a Clock (shared/runtime/clock.ts)';
const SLEEP = 'use clock.sleep(ms, signal) (shared/runtime/clock.ts); no timer may outlive a handler';
const RANDOM = 'take a Random (shared/runtime/random.ts)';
const IDS = 'take an Ids (shared/runtime/ids.ts)';

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
    message: 'the ports in shared/runtime are the only way to time, chance and identity',
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
  { name: 'uuid', message: IDS },
];

const environmentImportBan = ['node:process', 'process'].map((name) => ({
  name,
  importNames: ['env'],
  message: environmentBan.message,
}));

const dateWithoutArgument = {
  selector: ':matches(NewExpression[arguments.length=0], CallExpression)[callee.name="Date"]',
  message: `it reads the machine's clock: ${CLOCK}`,
};

/** Two tests of one title in one place: the second is a copy, or its title is wrong. */
const uniqueTitles = {
  create(context) {
    const scopes = [new Set()];
    const called = ({ callee }) => {
      let at = callee;
      while (at.type !== 'Identifier') {
        if (at.type === 'CallExpression') at = at.callee;
        else if (at.type === 'MemberExpression') at = at.object;
        else if (at.type === 'TaggedTemplateExpression') at = at.tag;
        else return undefined;
      }
      return at.name;
    };
    const isDescribe = (node) => called(node)?.startsWith('describe') === true && node.arguments.length > 1;
    return {
      CallExpression(node) {
        const name = called(node);
        const [title, body] = node.arguments;
        if (title?.type === 'Literal' && body !== undefined && (name === 'test' || isDescribe(node))) {
          const key = `${name} ${title.value}`;
          if (scopes.at(-1).has(key))
            context.report({
              node: title,
              message: `another ${name} beside it has this title: remove the copy, or say what differs`,
            });
          scopes.at(-1).add(key);
        }
        if (isDescribe(node)) scopes.push(new Set());
      },
      'CallExpression:exit'(node) {
        if (isDescribe(node)) scopes.pop();
      },
    };
  },
};

const defaultExport = {
  selector: 'ExportDefaultDeclaration',
  message: 'export a name: it is searched for, renamed and imported as one word everywhere',
};

export default defineConfig(
  // The consumer's imports resolve only where the package is installed: `npm run test:package` checks them.
  { ignores: ['node_modules/', 'cdk.out/', 'coverage/', 'dist/', '.leasehold/', 'release/consumer/'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },

  {
    files: ['**/*.{js,mjs,ts}'],
    rules: {
      eqeqeq: 'error',
      'prefer-const': 'error',
      'object-shorthand': 'error',
      'no-param-reassign': 'error',
      'no-else-return': 'error',
      'no-promise-executor-return': 'error',
      'no-unsafe-finally': 'error',
      'no-unsafe-optional-chaining': 'error',
      'no-constant-condition': ['error', { checkLoops: 'allExceptWhileTrue' }],
      'no-fallthrough': 'error',
      'no-empty': 'error',
      'no-restricted-syntax': ['error', defaultExport],
    },
  },

  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/consistent-type-imports': ['error', { prefer: 'type-imports' }],
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      '@typescript-eslint/strict-void-return': 'error',

      // An `async` function that awaits nothing is how a port is implemented in memory.
      '@typescript-eslint/require-await': 'off',
      // Numbers in messages are the point of our messages; objects and nullish values stay forbidden.
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      // `while (true)` with an early return is how a bounded retry loop reads best.
      '@typescript-eslint/no-unnecessary-condition': [
        'error',
        { allowConstantLoopConditions: 'only-allowed-literals' },
      ],
      // A variable named `_` says that it is not read.
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', destructuredArrayIgnorePattern: '^_' },
      ],
      // `() => emit()` for a callback that returns void is shorter and says the same.
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      // `interface` for records, `type` for unions and mapped types: both have their place.
      '@typescript-eslint/consistent-type-definitions': 'off',
    },
  },

  {
    files: PURE,
    ignores: PORTS,
    rules: {
      'no-restricted-globals': ['error', ...bannedGlobals],
      'no-restricted-properties': ['error', ...bannedProperties, environmentBan],
      'no-restricted-imports': ['error', { paths: [...bannedImports, ...environmentImportBan] }],
      'no-restricted-syntax': ['error', defaultExport, dateWithoutArgument],
    },
  },
  {
    files: ['**/*.ts'],
    ignores: [...PURE, ...READS_ENVIRONMENT],
    rules: {
      'no-restricted-properties': ['error', environmentBan],
      'no-restricted-imports': ['error', { paths: environmentImportBan }],
    },
  },
  {
    // The pure folders' entries for configuration: everything else stays banned there.
    files: ['functions/env.ts', 'infra/app.ts', 'shared/environment.ts', 'shared/dynamo/wire/environment.ts'],
    rules: {
      'no-restricted-properties': ['error', ...bannedProperties],
      'no-restricted-imports': ['error', { paths: bannedImports }],
    },
  },

  {
    files: TESTS,
    plugins: { house: { rules: { 'unique-titles': uniqueTitles } } },
    rules: {
      'house/unique-titles': 'error',
      // Test bodies say what they mean; the compiler already knows what comes out of them.
      '@typescript-eslint/explicit-module-boundary-types': 'off',
      // `expect(list[0]!.id)` fails with the index in the message, which is what a test wants.
      '@typescript-eslint/no-non-null-assertion': 'off',
      // Fakes implement ports with methods that have nothing to do.
      '@typescript-eslint/no-empty-function': 'off',
    },
  },
  {
    // `new Construct(scope, id)` draws itself into the tree: the instance is often not needed.
    files: ['infra/**/*.ts', 'test/infra/**/*.ts'],
    rules: { 'no-new': 'off', '@typescript-eslint/no-extraneous-class': 'off' },
  },
  {
    files: DEFAULT_EXPORT,
    rules: { 'no-restricted-syntax': ['error', dateWithoutArgument] },
  },
);
