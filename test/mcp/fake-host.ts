import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { microUsd } from '#contract/money.ts'
import type { ModelRecord } from '#contract/operations/models.ts'
import type { Operation } from '#contract/operations/operation.ts'
import { type ApprovalDecision, type ApprovalRequest, ApprovalRequired, isApproved } from '#toolkit/approval.ts'
import type {
  ChargeReceipt,
  JobView,
  KeptFile,
  LimitsView,
  Paid,
  PaidOptions,
  Receipt,
  SavedFile,
  ToolContext,
  WalletView,
} from '#toolkit/tool-context.ts'
import type { ToolHost } from '#toolkit/tool-host.ts'
import { FormFile } from '#toolkit/values/form-file.ts'

export const usd = (amount: number) => microUsd(Math.round(amount * 1e6))

export const paid: Paid = { chargedMicroUsd: usd(0.25), creditLeftMicroUsd: usd(4.75), budgetLeftMicroUsd: usd(5) }

export const runningJob: JobView = {
  jobId: 'job_1',
  kind: 'video',
  model: 'demo-video',
  state: 'running',
  startedAtMs: Date.UTC(2026, 0, 2, 3, 4, 5),
  typicalMs: 60_000,
  priceMicroUsd: usd(0.25),
  refunded: false,
  file: null,
  failure: null,
}

export const doneJob: JobView = {
  ...runningJob,
  state: 'completed',
  file: { path: '/home/ann/farebox files/a b.mp4', mimeType: 'video/mp4', bytes: 1234 },
}

/** The same file as it is remembered. */
export const keptFile: KeptFile = {
  ...{ path: '/home/ann/farebox files/a b.mp4', mimeType: 'video/mp4', bytes: 1234 },
  ...{ id: 'job_1', model: 'demo-video', tool: 'video_create', savedAtMs: Date.UTC(2026, 0, 2, 3, 5, 5) },
}

export const madeFile: SavedFile = { path: '/home/ann/farebox files/a b.png', mimeType: 'image/png', bytes: 1234 }

export const receipt: Receipt = {
  id: 'rcpt_1',
  atMs: Date.UTC(2026, 0, 2, 3, 4, 5),
  state: 'confirmed',
  amountMicroUsd: usd(5),
  network: 'eip155:8453',
  payTo: '0x00000000000000000000000000000000000000aa',
  transaction: '0xabc',
  purpose: 'credit',
}

export const charge: ChargeReceipt = {
  id: 'charge:1',
  kind: 'charge',
  atMs: Date.UTC(2026, 0, 2, 3, 4, 6),
  state: 'verified',
  amountMicroUsd: usd(0.25),
  stakingMicroUsd: usd(0),
  what: 'A chat with demo-chat',
  model: 'demo-chat',
  usage: [{ sku: 'chat.output', units: '3' }],
  problem: null,
}

export const wallet: WalletView = {
  pays: 'wallet',
  service: 'http://127.0.0.1:8402',
  address: '0xabc',
  network: 'eip155:8453',
  creditMicroUsd: usd(4.75),
  creditSeen: { atMs: Date.UTC(2026, 0, 2), unknown: null },
  onChain: [],
  atMs: Date.UTC(2026, 0, 2),
  caps: { perPayment: usd(5), perCall: usd(10), perDay: usd(10), total: usd(20), askAbove: usd(1) },
  refill: null,
  asksNextPayment: false,
  spent: { today: usd(5), total: usd(5), reserved: usd(0) },
  unresolved: 0,
  payee: receipt.payTo,
  next: null,
}

const limits: LimitsView = {
  source: 'service',
  tier: 'paid',
  models: [
    {
      model: 'demo-chat',
      requestsPerMinute: 500,
      requestsLeft: 499,
      requestsResetAtMs: Date.UTC(2026, 0, 2),
      tokensPerMinute: 1_000_000,
      tokensLeft: null,
      tokensResetAtMs: null,
    },
  ],
}

export const videoModel: ModelRecord = {
  id: 'demo-video',
  object: 'model',
  owned_by: 'demo',
  type: 'video',
  model_spec: {
    name: 'Demo video',
    description: 'Draws a moving picture.',
    privacy: 'private',
    constraints: {
      aspect_ratios: ['16:9', '1:1'],
      resolutions: ['480p'],
      durations: ['5s', '10s'],
      model_type: 'text-to-video',
      audio: false,
      audio_configurable: false,
    },
  },
}

export const answers: Readonly<Record<string, unknown>> = {
  createChatCompletion: {
    id: 'c1',
    object: 'chat.completion',
    created: 1,
    model: 'demo-chat',
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hello.' } }],
    usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
  },
  listModels: { object: 'list', type: 'all', data: [videoModel] },
  createTranscription: { text: 'Hello.', duration: 1.5 },
  webScrape: { url: 'https://example.com/', content: 'Hello.', format: 'markdown' },
  webSearch: {
    query: 'kites',
    results: [{ title: 'Kites', url: 'https://example.com/', content: 'They fly.', date: '' }],
  },
  createTextParser: { text: 'Hello.', tokens: 2 },
  createEmbedding: {
    object: 'list',
    model: 'demo-embedding',
    data: [{ object: 'embedding', index: 0, embedding: [0.5, 1] }],
    usage: { prompt_tokens: 1, total_tokens: 1 },
  },
  cryptoRpcProxy: { jsonrpc: '2.0', id: 1, result: '0x1' },
  listCharacters: { object: 'list', data: [] },
  createClonedVoice: { id: 'voice_1', model: 'demo-speech' },
}

export interface FakeOptions {
  /** In place of what the wallet says. */
  wallet?: Partial<ToolContext['wallet']>
  /** In place of where texts are saved. */
  saveText?: ToolContext['files']['saveText']
  /** Asked one after the other before a paid call goes through. */
  questions?: ApprovalRequest[]
  /** Thrown by every effect. */
  failure?: unknown
  answers?: Readonly<Record<string, unknown>>
  jobs?: JobView[]
  made?: SavedFile[]
  kept?: KeptFile[]
  limits?: LimitsView
  models?: readonly ModelRecord[]
  /** Progress reported by a wait, and whether it goes on until it is stopped. */
  reports?: { message: string; done?: number; total?: number }[]
  waitsForever?: boolean
}

/** A host that keeps what it was asked to do and answers from a script. */
export function fakeHost(options: FakeOptions = {}) {
  const calls: { operation: string; body: unknown; options: PaidOptions | undefined }[] = []
  const given: { approvalId: string; answer: ApprovalDecision }[] = []
  const approved = new Set<string>()
  const previews: object[] = []
  const seen = { calls, given, contexts: 0, events: [] as string[], waitedMs: [] as number[], previews }

  const effect = () => {
    if (options.failure !== undefined) throw options.failure
  }
  const paidEffect = () => {
    effect()
    askFirst(options.questions, approved)
  }
  const answerOf = (operation: Operation) => ({ ...answers, ...options.answers })[operation.id]

  const contextFor = ({ signal, report, shows }: Parameters<ToolHost['context']>[0]): ToolContext => ({
    signal,
    report,
    shows,
    now: noon,
    async call(operation, { body }, paidOptions) {
      if (operation.charge === 'free') effect()
      else paidEffect()
      calls.push({ operation: operation.id, body, options: paidOptions })
      // The script's answers have the shape of their operation; a wrong one fails in the tool's own output schema.
      return { answer: answerOf(operation) as never, paid }
    },
    async make(operation, { body }, paidOptions) {
      paidEffect()
      calls.push({ operation: operation.id, body, options: paidOptions })
      return { files: options.made ?? [madeFile], model: 'demo-image', isBlurred: false, paid }
    },
    async start(operation, { body }, paidOptions) {
      paidEffect()
      calls.push({ operation: operation.id, body, options: paidOptions })
      return { job: runningJob, paid }
    },
    jobs: {
      async wait(_jobId, timeoutMs) {
        effect()
        seen.waitedMs.push(timeoutMs)
        for (const progress of options.reports ?? []) report(progress)
        if (options.waitsForever) {
          await once(signal, 'abort')
          // What is stopped still has to write down where it stood.
          await sleep(20)
          seen.events.push('stopped')
          throw signal.reason
        }
        return options.jobs?.[0] ?? doneJob
      },
      list: async limit => (options.jobs ?? [doneJob]).slice(0, limit),
      async delete(jobId) {
        effect()
        return { ...doneJob, jobId, state: 'deleted' }
      },
    },
    files: { ...filesOf(options, previews), ...(options.saveText ? { saveText: options.saveText } : {}) },
    wallet: { ...walletFixture(paidEffect, calls), ...options.wallet },
    ...factsOf(options, effect),
  })

  return { host: hostOf(contextFor, { given, approved, seen }), seen }
}

function askFirst(questions: readonly ApprovalRequest[] = [], approved: ReadonlySet<string>): void {
  const open = questions.find(question => !approved.has(question.approvalId))
  if (open) throw new ApprovalRequired(open)
}

const factsOf = (options: FakeOptions, effect: () => void): Pick<ToolContext, 'models' | 'limits' | 'estimate'> => ({
  async models() {
    effect()
    return options.models ?? [videoModel]
  },
  async limits() {
    effect()
    return options.limits ?? limits
  },
  async estimate() {
    effect()
    return { what: 'A video of 5s by demo-video', mostMicroUsd: usd(0.25), approval: 'not_needed', because: null }
  },
})

const noon = () => Date.UTC(2026, 0, 3)

const filesOf = ({ kept = [keptFile], failure }: FakeOptions, previews: object[]): ToolContext['files'] => ({
  asMediaUrl: async source => (source.startsWith('http') ? source : `data:image/png;base64,${source}`),
  asFormFile: async (path, kind) => new FormFile(new TextEncoder().encode(path), kind, ''),
  saveText: async (text, _name, mimeType = 'text/plain') => ({
    path: '/home/ann/farebox files/text.txt',
    mimeType,
    bytes: text.length,
  }),
  async preview({ path }, within) {
    previews.push(within)
    return { type: 'image', data: btoa(path), mimeType: 'image/png' }
  },
  recording: async ({ path, mimeType }) => ({ type: 'audio', data: btoa(path), mimeType }),
  saved: async limit => kept.slice(0, limit),
  async readSaved(address) {
    if (failure !== undefined) throw failure
    const file = kept.find(({ id, path }) => address === id || address === pathToFileURL(path).href)
    return file ? { file, bytes: new TextEncoder().encode(file.path) } : null
  },
})

const walletFixture = (
  paidEffect: () => void,
  calls: { operation: string; body: unknown; options: PaidOptions | undefined }[],
): ToolContext['wallet'] => ({
  status: async () => wallet,
  async topUp(amountMicroUsd, paidOptions) {
    paidEffect()
    calls.push({ operation: 'topUp', body: amountMicroUsd, options: paidOptions })
    return { receipt: { ...receipt, amountMicroUsd }, paid: { ...paid, chargedMicroUsd: amountMicroUsd } }
  },
  receipts: async limit => [receipt].slice(0, limit),
  charges: async limit => [charge].slice(0, limit),
})

function hostOf(
  context: ToolHost['context'],
  {
    given,
    approved,
    seen,
  }: {
    given: { approvalId: string; answer: ApprovalDecision }[]
    approved: Set<string>
    seen: { contexts: number; events: string[] }
  },
): ToolHost {
  return {
    context(invocation) {
      seen.contexts += 1
      return context(invocation)
    },
    async answer(approvalId, answer) {
      given.push({ approvalId, answer })
      if (isApproved(answer)) approved.add(approvalId)
      return { untilMs: Date.UTC(2026, 0, 3), takesBack: `farebox wallet approve ${approvalId}` }
    },
    async close() {
      seen.events.push('closed')
    },
  }
}
