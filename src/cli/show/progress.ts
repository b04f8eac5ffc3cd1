import { progressCharacters, progressEveryMs } from '#toolkit/bounds.ts'
import { oneLine } from '#toolkit/values/untrusted.ts'
import type { Output } from '../output.ts'

/** The progress of a step; without a total, only its message is shown. */
export interface Step {
  message: string
  done?: number
  total?: number
}

export interface Progress {
  show(step: Step): void
  /** Removes the bar; nothing is shown any more. */
  end(): void
}

/**
 * Shows progress on stderr. On a terminal this is `what` with the elapsed seconds, and a bar once there is a total.
 * Otherwise it is one line for each new message, at a limited rate.
 */
export async function openProgress(
  { drawing, note }: Pick<Output, 'drawing' | 'note'>,
  what: string,
): Promise<Progress> {
  if (drawing === null) return inLines(note)
  const progress = await drawn(drawing)
  progress.show({ message: what })
  return progress
}

function inLines(note: (line: string) => void): Progress {
  let last = ''
  let nextAtMs = 0
  return {
    show({ message }) {
      const nowMs = performance.now()
      const line = oneLine(message, progressCharacters)
      if (line === last || nowMs < nextAtMs) return
      last = line
      nextAtMs = nowMs + progressEveryMs
      note(line)
    },
    end() {
      nextAtMs = Number.POSITIVE_INFINITY
    },
  }
}

/** Characters of the bar itself. */
const barCharacters = 24

async function drawn(stream: NodeJS.WritableStream): Promise<Progress> {
  const { SingleBar, Format } = (await import('cli-progress')).default
  const bar = new SingleBar({
    stream,
    // If the process is killed, the terminal is left as it was.
    hideCursor: false,
    linewrap: true,
    clearOnComplete: true,
    barsize: barCharacters,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    format(
      options,
      { progress, startTime, maxWidth },
      { message, isCounted }: { message: string; isCounted: boolean },
    ) {
      const seconds = Math.round((Date.now() - startTime) / 1_000)
      const begin = isCounted ? `${Format.BarFormat(progress, options)} ${Math.floor(progress * 100)} %  ` : ''
      const end = seconds > 0 ? `  (${seconds} s)` : ''
      return begin + message.slice(0, Math.max(0, maxWidth - 1 - begin.length - end.length)) + end
    },
  })
  let state: 'before' | 'shown' | 'ended' = 'before'
  return {
    show({ message, done = 0, total = 0 }) {
      if (state === 'ended') return
      const shown = { message: oneLine(message, progressCharacters), isCounted: total > 0 }
      if (state === 'before') bar.start(total, done, shown)
      state = 'shown'
      bar.setTotal(total)
      bar.update(done, shown)
    },
    end() {
      state = 'ended'
      bar.stop()
    },
  }
}
