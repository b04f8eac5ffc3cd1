import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { DemoChat, DemoVideo, demoModels, openService } from '#service/index.ts'
import { median, turned } from '../kit/figures.ts'
import { LineServer, type ServerCommand } from './line-server.ts'

/** Unmeasured starts of each server, so that files and compiled code are cached. */
const warmUpRounds = 3

/** Measured starts of each server, one after another; odd, so that the median is one of them. */
const coldStartRounds = 41

/** Calls per side and block, and number of blocks; together fewer than the 500 a minute that a key may make. */
const callsInBlock = 60
const callBlocks = 5

/** Goals for the whole default set of tools. */
export const goals = {
  coldStartToServerEverything: 0.5,
  coldStartToOneTool: 1,
  tools: 20,
  listingTokens: 3_500,
  listingBytes: 32_000,
  limitsBeyondEchoMs: 1,
} as const

/** Milliseconds from spawn to the answer of `initialize`, one row per round, in the order of `commands`. */
export async function coldStarts(commands: readonly ServerCommand[]): Promise<number[][]> {
  const rounds: number[][] = []
  for (let round = 0; round < warmUpRounds + coldStartRounds; round++) {
    const startsMs = new Array<number>(commands.length)
    for (const [index, command] of turned([...commands.entries()], round)) startsMs[index] = await coldStartMs(command)
    if (round >= warmUpRounds) rounds.push(startsMs)
  }
  return rounds
}

export const medianOf = (rounds: readonly number[][], which: number): number =>
  median(rounds.map(startsMs => startsMs[which] ?? Number.NaN))

/** The median of the rounds' own ratios, because anything that slows the machine affects both sides of a round. */
export const medianRatio = (rounds: readonly number[][], one: number, other: number): number =>
  median(rounds.map(startsMs => (startsMs[one] ?? Number.NaN) / (startsMs[other] ?? Number.NaN)))

async function coldStartMs(command: ServerCommand): Promise<number> {
  const beganMs = performance.now()
  const server = new LineServer(command)
  try {
    await server.initialize()
    return performance.now() - beganMs
  } finally {
    await server.end()
  }
}

interface ListingSize {
  tools: number
  /** Tokens of name, description and input schema, which an assistant pays for in each conversation. */
  tokens: number
  /** Bytes of the complete answer. */
  bytes: number
}

interface ListedTools {
  tools: { name: string; description?: string; inputSchema: object }[]
}

export async function listingSize(command: ServerCommand): Promise<ListingSize> {
  const server = new LineServer(command)
  try {
    await server.initialize()
    const listed = (await server.call('tools/list', {})) as ListedTools
    const shown = listed.tools.map(tool => `${tool.name}${tool.description ?? ''}${JSON.stringify(tool.inputSchema)}`)
    return {
      tools: listed.tools.length,
      tokens: shown.reduce((sum, text) => sum + encode(text).length, 0),
      bytes: Buffer.byteLength(JSON.stringify(listed)),
    }
  } finally {
    await server.end()
  }
}

interface CallTimes {
  limitsMs: number
  echoMs: number
}

/** Median milliseconds of `limits`, and of an echo with the bare SDK; one call at a time, alternating. */
export async function limitsBesideEcho(
  farebox: ServerCommand,
  oneTool: ServerCommand,
  folder: string,
): Promise<CallTimes> {
  await mkdir(folder, { recursive: true })
  const service = await openService(settings(folder))
  const servers: LineServer[] = []
  const start = async (command: ServerCommand): Promise<LineServer> => {
    const server = new LineServer(command)
    servers.push(server)
    await server.initialize()
    return server
  }
  try {
    const { port } = await service.listen({ host: '127.0.0.1', port: 0 })
    const { key } = await service.createKey({ usd: '1' })
    const env = {
      ...farebox.env,
      FAREBOX_BASE_URL: `http://127.0.0.1:${port}/api/v1`,
      FAREBOX_API_KEY: key,
      FAREBOX_DATA: join(folder, 'agent'),
    }
    const [ours, bare] = [await start({ ...farebox, env }), await start(oneTool)]
    return await inTurns(
      () => callTool(ours, 'limits', {}),
      () => callTool(bare, 'echo', { text: 'the same words' }),
    )
  } finally {
    await Promise.all(servers.map(server => server.end()))
    await service.close()
  }
}

async function inTurns(limits: () => Promise<void>, echo: () => Promise<void>): Promise<CallTimes> {
  // The first block lets both sides be compiled.
  await Promise.all([block(limits), block(echo)])
  const times = { limits: [] as number[], echo: [] as number[] }
  for (let turn = 0; turn < callBlocks; turn++) {
    times.limits.push(...(await block(limits)))
    times.echo.push(...(await block(echo)))
  }
  return { limitsMs: median(times.limits), echoMs: median(times.echo) }
}

async function block(call: () => Promise<void>): Promise<number[]> {
  const timesMs: number[] = []
  for (let done = 0; done < callsInBlock; done++) {
    const beganMs = performance.now()
    await call()
    timesMs.push(performance.now() - beganMs)
  }
  return timesMs
}

async function callTool(server: LineServer, name: string, args: object): Promise<void> {
  const answer = (await server.call('tools/call', { name, arguments: args })) as { isError?: boolean }
  if (answer.isError) throw new Error(`${name} failed: ${JSON.stringify(answer)}`)
}

/** A real service with demonstration models. It receives no payments, so it needs no chain. */
const settings = (folder: string): Parameters<typeof openService>[0] => ({
  publicUrl: 'http://127.0.0.1',
  folder: join(folder, 'service'),
  secrets: ['a secret for measuring, of thirty-two bytes'],
  models: demoModels({ chat: new DemoChat(), video: new DemoVideo({ workFolder: join(folder, 'engines') }) }),
  payments: {
    options: [
      {
        scheme: 'exact',
        network: 'eip155:8453',
        amount: '5000000',
        asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
        payTo: '0x000000000000000000000000000000000000dEaD',
        maxTimeoutSeconds: 300,
      },
    ],
    rpcUrl: 'http://127.0.0.1:1',
    confirmations: 0,
    facilitatorKey: `0x${'11'.repeat(32)}`,
  },
})
