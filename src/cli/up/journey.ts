import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sayUsd } from '#toolkit/values/amounts.ts'
import type { DataFolder } from '../data/data-folder.ts'
import { counted } from '../show/counted.ts'
import { type Assistant, openAssistant, type ToolAnswer, type UserAnswers } from './assistant.ts'
import type { Report } from './events.ts'
import type { LocalService } from './local-service.ts'

export interface JourneyOptions {
  service: LocalService
  folder: DataFolder
  report: Report
  /** How to start farebox again. */
  self: readonly [string, ...string[]]
  signal: AbortSignal
}

/** The report of a step. */
interface StepReport {
  costUsd: number | null
  detail: string
}

/** Waits that a video may take; each is one call of at most 45 s. */
const mostWaits = 8

/** How long after a failure a signal may arrive that explains the failure. */
const signalMs = 200

/** How much untrusted text a step's detail shows. */
const shown = { answerCharacters: 200, questionLines: 40, lineCharacters: 110 } as const

export type JourneyEnd = 'succeeded' | 'failed' | 'stopped'

/**
 * Runs the whole demonstration once: an assistant over MCP that pays from its own wallet. It has failed if any step
 * failed.
 */
export async function runJourney(options: JourneyOptions): Promise<JourneyEnd> {
  const { folder, report, signal, self } = options
  if (signal.aborted) return 'stopped'
  await mkdir(folder.output, { recursive: true })
  const image = join(folder.output, 'journey-image.png')
  await writeFile(image, await drawImage(Date.now()))
  const user = new JourneyUser()
  try {
    const assistant = await openAssistant({
      command: self,
      env: agentEnvironment(options),
      answers: user.answer,
      signal,
    })
    try {
      return await new Journey(assistant, user, report, image, signal).run()
    } finally {
      await assistant.close()
    }
  } catch (error) {
    if (await wasStopped(signal)) return 'stopped'
    throw error
  }
}

/**
 * Whether a stop caused the failure: a key press reaches the assistant too, whose end may be noticed before the signal.
 */
async function wasStopped(signal: AbortSignal): Promise<boolean> {
  await sleep(signalMs, undefined, { signal }).catch(() => undefined)
  return signal.aborted
}

/** `up` passes the assistant its own wallet on the local chain, only in the child's environment. */
function agentEnvironment({ service, folder }: JourneyOptions): Record<string, string> {
  return {
    PATH: process.env.PATH ?? '',
    HOME: process.env.HOME ?? folder.root,
    FAREBOX_BASE_URL: service.baseUrl,
    FAREBOX_WALLET_KEY: service.wallet.privateKey,
    FAREBOX_DATA: folder.agent,
    // Its key is the folder's own, so notes about it stay there too.
    XDG_STATE_HOME: folder.agent,
    FAREBOX_OUTPUT_DIR: folder.output,
    FAREBOX_PAYEE: service.payee,
  }
}

/** Simulates the user at the screen: reads the policy that is shown, and ticks its statements. */
class JourneyUser {
  readonly asked: string[] = []

  readonly answer: UserAnswers = (message, boxes) => {
    this.asked.push(message)
    return Object.fromEntries(boxes.map(box => [box, true]))
  }
}

class Journey {
  readonly #assistant: Assistant
  readonly #user: JourneyUser
  readonly #report: Report
  readonly #image: string
  readonly #signal: AbortSignal
  /** Rounded to whole seconds, like the times of receipts. */
  readonly #startedAtMs = Math.floor(Date.now() / 1_000) * 1_000
  #end: JourneyEnd = 'succeeded'

  constructor(assistant: Assistant, user: JourneyUser, report: Report, image: string, signal: AbortSignal) {
    this.#assistant = assistant
    this.#user = user
    this.#report = report
    this.#image = image
    this.#signal = signal
  }

  async run(): Promise<JourneyEnd> {
    await this.#step('chat', () => this.#chat())
    await this.#step('video quote', () => this.#quote())
    let job = ''
    await this.#step('video create', async () => {
      const created = await this.#call('video_create', { ...video, again: true })
      job = String(created.data.job_id)
      return { costUsd: usd(created.data.charged_usd), detail: `queued as job ${job}` }
    })
    await this.#step('video wait', () => this.#wait(job))
    await this.#step('consent', () => this.#consent())
    await this.#step('limits', () => this.#limits())
    await this.#step('receipts', () => this.#receipts())
    return this.#end
  }

  /** A failed step is reported, and the others still run. */
  async #step(name: string, run: () => Promise<StepReport>): Promise<void> {
    if (this.#signal.aborted) {
      this.#end = 'stopped'
      return
    }
    const startedMs = performance.now()
    const tell = (ok: boolean, { costUsd, detail }: StepReport) =>
      this.#report({ event: 'step', name, ok, costUsd, ms: Math.round(performance.now() - startedMs), detail })
    try {
      tell(true, await run())
    } catch (error) {
      if (await wasStopped(this.#signal)) {
        this.#end = 'stopped'
        return
      }
      this.#end = 'failed'
      tell(false, { costUsd: null, detail: error instanceof Error ? error.message : String(error) })
    }
  }

  async #call(tool: string, given: Record<string, unknown>): Promise<ToolAnswer> {
    const answer = await this.#assistant.call(tool, given)
    if (answer.isError) throw new Error(answer.text)
    return answer
  }

  async #payments(): Promise<Receipt[]> {
    return (await this.#kept()).receipts
  }

  async #kept(): Promise<{ receipts: Receipt[]; charges: string[] }> {
    const { data } = await this.#call('wallet_receipts', { limit: 50 })
    return data as { receipts: Receipt[]; charges: string[] }
  }

  async #chat(): Promise<StepReport> {
    const before = await this.#payments()
    const answer = await this.#call('chat', {
      model: 'demo-chat',
      prompt: 'In one sentence: what happens when an API answers 402?',
      max_tokens: 200,
      again: true,
    })
    const [paid] = (await this.#payments()).filter(each => !before.some(known => known.id === each.id))
    const how = paid
      ? `402, so the wallet paid ${sayUsd(paid.amount_usd)} (${short(paid.transaction)}) and got the answer`
      : 'answered from existing credit, so there was no 402'
    return {
      costUsd: usd(answer.data.charged_usd),
      detail: `${how}:\n${shortened(String(answer.data.answer).trim(), shown.answerCharacters)}`,
    }
  }

  async #quote(): Promise<StepReport> {
    const { data } = await this.#call('estimate', { tool: 'video_create', arguments: video })
    return {
      costUsd: null,
      detail: `${video.duration} at ${video.resolution} will cost ${sayUsd(usd(data.at_most_usd))}`,
    }
  }

  async #wait(job: string): Promise<StepReport> {
    for (let waits = 0; waits < mostWaits && !this.#signal.aborted; waits++) {
      const { data } = await this.#call('job_wait', { job_id: job })
      const file = data.file as { path: string; mime_type: string; bytes: number } | null
      if (data.state === 'failed') throw new Error(String(data.failure))
      if (!file) continue
      this.#report({ event: 'file', path: file.path, mimeType: file.mime_type, bytes: file.bytes })
      return { costUsd: null, detail: 'finished and saved' }
    }
    throw new Error('The video did not finish in time; call job_wait to continue.')
  }

  async #consent(): Promise<StepReport> {
    const before = this.#user.asked.length
    const { data, text } = await this.#call('video_create', { ...video, image: this.#image, again: true })
    const policy = this.#user.asked.slice(before).at(-1)
    if (!data.job_id) throw new Error(`The image was refused: ${text}`)
    const costUsd = usd(data.charged_usd)
    if (!policy) {
      const detail = `an earlier consent for this image is still valid, so the user was not asked; queued as job ${String(data.job_id)}`
      return { costUsd, detail }
    }
    const lines = policy.split('\n').filter(Boolean)
    return {
      costUsd,
      detail: [
        'no face detector is installed, so every image is treated as showing a face; the user was shown',
        ...lines.slice(0, shown.questionLines).map(line => `| ${shortened(line, shown.lineCharacters)}`),
        ...(lines.length > shown.questionLines ? ['| …'] : []),
        `the user ticked the three statements; only then was the video queued as job ${String(data.job_id)}`,
      ].join('\n'),
    }
  }

  async #limits(): Promise<StepReport> {
    const { data } = await this.#call('limits', {})
    const models = data.models as { model: string; requests_per_minute: number | null }[]
    const list = models.map(each => `${each.model} ${each.requests_per_minute ?? '?'}/min`).join(', ')
    const { data: wallet } = await this.#call('wallet_status', {})
    return { costUsd: null, detail: `credit ${sayUsd(usd(wallet.credit_usd))}; ${list}` }
  }

  /** Only those of this run, because the folder keeps earlier ones too. */
  async #receipts(): Promise<StepReport> {
    const kept = await this.#kept()
    const isNew = (at: string) => Date.parse(at) >= this.#startedAtMs
    const receipts = kept.receipts.filter(({ at }) => isNew(at))
    // A line begins with its time.
    const charges = kept.charges.filter(line => isNew(line.slice(0, line.indexOf(': '))))
    const charged = [`${counted(charges.length, 'charge')}, with signed receipts`, ...charges]
    if (!receipts.length) {
      const detail = 'none: the wallet paid nothing, because there was credit'
      return { costUsd: null, detail: [detail, ...charged].join('\n') }
    }
    const rows = receipts.map(
      each =>
        `${each.at.slice(0, 19)}  ${sayUsd(each.amount_usd)}  ${each.state}  ${short(each.transaction)}  ${each.purpose}`,
    )
    return {
      costUsd: null,
      detail: [`${counted(receipts.length, 'payment')} of the wallet`, ...rows, ...charged].join('\n'),
    }
  }
}

const video = {
  model: 'demo-video',
  prompt: 'A lighthouse in fog, its beam turning',
  duration: '4s',
  resolution: '480p',
  aspect_ratio: '16:9',
}

interface Receipt {
  id: string
  at: string
  state: string
  amount_usd: number
  transaction: string | null
  purpose: string
}

const usd = (value: unknown): number | null => (typeof value === 'number' ? value : null)

const short = (transaction: string | null): string => (transaction ? `${transaction.slice(0, 10)}…` : 'no transaction')

/**
 * Draws a small face as a PNG, so that the demonstration has an image that needs consent without shipping an image of a
 * real person. The sky's colour depends on the time in milliseconds, so that each run has a new image to which the user
 * has not consented yet.
 */
export async function drawImage(atMs: number): Promise<Buffer> {
  const { encodePng } = await import('#engines/images/png.ts')
  const side = 256
  const sky = skyAt(atMs)
  const rgb = Buffer.alloc(side * side * 3)
  for (let y = 0; y < side; y++) {
    for (let x = 0; x < side; x++) rgb.set(colourAt(x - side / 2, y - side / 2, sky), (y * side + x) * 3)
  }
  return encodePng({ width: side, height: side, rgb })
}

type Colour = [red: number, green: number, blue: number]

const skin: Colour = [236, 200, 160]
const ink: Colour = [60, 44, 40]

/** Six bits of the time per channel: a different blue each millisecond, for more than four minutes. */
const skyAt = (atMs: number): Colour => [
  90 + (atMs % 64),
  130 + (Math.floor(atMs / 64) % 64),
  190 + (Math.floor(atMs / 4096) % 64),
]

/** Relative to the center. */
function colourAt(x: number, y: number, sky: Colour): Colour {
  if (Math.hypot(x, y) > 100) return sky
  const isEye = Math.hypot(Math.abs(x) - 36, y + 26) < 12
  const isMouth = Math.abs(Math.hypot(x, y - 4) - 58) < 5 && y > 26
  return isEye || isMouth ? ink : skin
}

/** Shortens a text to this many characters; it then ends after a whole word, with an ellipsis. */
export function shortened(text: string, mostCharacters: number): string {
  if (text.length <= mostCharacters) return text
  const room = text.slice(0, mostCharacters - 1)
  const isBetweenWords = /\s/.test(text.charAt(room.length))
  const whole = isBetweenWords ? room : room.replace(/\S+$/, '')
  // A single word that is longer than the limit is cut.
  return `${(whole.trim() ? whole : room).trimEnd().toWellFormed()}…`
}
