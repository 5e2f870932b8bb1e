/** Progress: a live picture on a terminal, plain lines elsewhere. */
import { styleText } from 'node:util';
import { liveText } from '../../local/live-text.ts';
import type { TaskState } from '../../shared/tasks/task/task.ts';
import type { WorkerView } from './worker-view.ts';

export interface Picture {
  readonly counts: Readonly<Record<TaskState | 'missing', number>>;
  readonly total: number;
  readonly workers: readonly WorkerView[];
  readonly now: number;
  readonly elapsedMs: number;
}

export interface Display {
  show(picture: Picture): void;
  note(text: string): void;
  end(): void;
}

const BAR_WIDTH = 40;
const PLAIN_EVERY_MS = 2_000;
const TASKS_SHOWN = 3;

export function createDisplay(output: NodeJS.WriteStream): Display {
  return output.isTTY ? liveDisplay(output) : plainDisplay(output);
}

function liveDisplay(output: NodeJS.WriteStream): Display {
  const live = liveText(output);
  return {
    show(picture) {
      live.show([bar(picture), '', ...picture.workers.map((worker) => workerLine(worker, picture.now)), ''].join('\n'));
    },
    note(text) {
      live.persist(`  ${text}`);
    },
    end() {
      live.end();
    },
  };
}

function plainDisplay(output: NodeJS.WriteStream): Display {
  let lastAt = -Infinity;
  return {
    show(picture) {
      if (picture.elapsedMs - lastAt < PLAIN_EVERY_MS) return;
      lastAt = picture.elapsedMs;
      output.write(`${seconds(picture.elapsedMs)}  ${countsLine(picture)}\n`);
    },
    note(text) {
      output.write(`${text}\n`);
    },
    end() {
      // Each line stands by itself.
    },
  };
}

function bar(picture: Picture): string {
  const { counts, total } = picture;
  const finished = counts.done + counts.dead + counts.cancelled;
  const filled = total === 0 ? BAR_WIDTH : Math.floor((finished / total) * BAR_WIDTH);
  return (
    `  ${styleText('green', '█'.repeat(filled))}${styleText('dim', '░'.repeat(BAR_WIDTH - filled))}` +
    `  ${countsLine(picture)}  ${seconds(picture.elapsedMs)}`
  );
}

function countsLine({ counts, total }: Picture): string {
  const { ready, running, done, dead } = counts;
  return `${done}/${total} done, ${running} running, ${ready} ready, ${dead} dead`;
}

function workerLine(worker: WorkerView, now: number): string {
  const tasks = [...worker.running]
    .slice(0, TASKS_SHOWN)
    .map(([task, counter]) => `${shorten(task)} #${counter % 1_000_000}`);
  const more = worker.running.size > TASKS_SHOWN ? ` +${worker.running.size - TASKS_SHOWN}` : '';
  const beat = worker.lastHeartbeatAt === undefined ? '' : `♥ ${seconds(now - worker.lastHeartbeatAt)}`;
  return (
    `  ${worker.environmentId.padEnd(22)} ${colour(worker.state)} ${beat.padEnd(8)} ` +
    `${String(worker.settled).padStart(5)} settled  ${tasks.join(', ')}${more}`
  );
}

function colour(state: WorkerView['state']): string {
  const text = state.padEnd(8);
  if (state === 'killed') return styleText('red', text);
  if (state === 'frozen') return styleText('yellow', text);
  return state === 'working' ? styleText('green', text) : styleText('dim', text);
}

function shorten(task: string): string {
  const name = task.replace(/^.*node_modules\//, '');
  return name.length > 28 ? `${name.slice(0, 27)}…` : name;
}

export function seconds(ms: number): string {
  return `${(Math.max(0, ms) / 1000).toFixed(1)} s`;
}
