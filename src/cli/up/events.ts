import type { Output } from '../output.ts'

/** What `up` tells, one JSON object a line with `--json`, words without. */
export type UpEvent = ReadyEvent | StepEvent | FileEvent | DoneEvent

export interface ReadyEvent {
  event: 'ready'
  baseUrl: string
  evmRpcUrl: string
  /** Null where there is no Solana chain, and then `withoutSolana` says why. */
  solanaRpcUrl: string | null
  withoutSolana?: string
  dataDir: string
}

export interface StepEvent {
  event: 'step'
  name: string
  ok: boolean
  /** Null where the step cannot cost anything. */
  costUsd: number | null
  ms: number
  detail: string
}

export interface FileEvent {
  event: 'file'
  path: string
  mimeType: string
  bytes: number
}

export interface DoneEvent {
  event: 'done'
  ok: boolean
}

export type Report = (event: UpEvent) => void

export const reportAsJson =
  (output: Output): Report =>
  event =>
    output.printJson(event)

export const reportInWords =
  (output: Output): Report =>
  event => {
    for (const line of words(event)) output.print(line)
  }

function words(event: UpEvent): string[] {
  switch (event.event) {
    case 'ready':
      return [`ready ${event.baseUrl}`, ...(event.withoutSolana === undefined ? [] : [event.withoutSolana])]
    case 'step':
      return [
        `${event.ok ? '✓' : '✗'} ${event.name.padEnd(14)} ${cost(event)}  ${event.detail.replaceAll('\n', '\n    ')}`,
      ]
    case 'file':
      return [`  file           ${event.path} (${event.mimeType}, ${event.bytes} bytes)`]
    case 'done':
      return [event.ok ? 'The journey is done.' : 'The journey met a failure; see the step above.']
  }
}

const cost = ({ costUsd }: StepEvent): string => (costUsd === null ? 'free'.padStart(12) : `${costUsd.toFixed(6)} USD`)
