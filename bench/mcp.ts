import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildPackage } from '../scripts/build/build-package.ts'
import { isMissed, type Line, report } from './kit/figures.ts'
import { install, pack } from './kit/install.ts'
import type { ServerCommand } from './mcp/line-server.ts'
import { coldStarts, goals, limitsBesideEcho, listingSize, medianOf, medianRatio } from './mcp/measure.ts'
import { buildOneToolServer } from './mcp/one-tool-server.ts'

/** Compares the packed farebox with other MCP servers from npm: how fast it starts, how large its listing is. */
const root = fileURLToPath(new URL('../', import.meta.url))
const serverEverything = { name: '@modelcontextprotocol/server-everything', version: '2026.8.31' }
/** The most similar published server: tools of an inference API with usage-based billing. */
const replicateMcp = { name: 'replicate-mcp', version: '0.9.0' }

const folder = await mkdtemp(join(tmpdir(), 'farebox-bench-'))
try {
  const lines = await measure()
  process.stdout.write(`${report(lines)}\n`)
  process.exitCode = lines.some(isMissed) ? 1 : 0
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
} finally {
  await rm(folder, { recursive: true, force: true, maxRetries: 3 })
}

async function measure(): Promise<Line[]> {
  tell('Building and packing farebox, then installing it and its peers in empty folders.')
  await buildPackage(root)
  const packed = await pack(root, folder)
  const product = join(folder, 'product')
  const installed = await install(product, packed.path)
  const farebox = command('farebox', join(product, 'node_modules/farebox/bin/farebox.mjs'), 'mcp')
  const everything = command('server-everything', await installPeer(serverEverything, 'dist/index.js'), 'stdio')
  const replicate = command('replicate-mcp', await installPeer(replicateMcp, 'index.js'))
  // It does not start without one, and does not use it before a tool is called.
  replicate.env.REPLICATE_API_TOKEN = 'none'
  const oneTool = command('one tool, bundled', await buildOneToolServer(root, join(folder, 'one-tool')))
  tell(`Installed with farebox: ${installed.filter(name => name !== 'farebox').join(', ') || 'nothing'}.`)
  tell('Starting the four in turn.')
  const starts = await coldStarts([farebox, everything, oneTool, replicate])
  const size = await listingSize(farebox)
  const [ofEverything, ofReplicate] = [await listingSize(everything), await listingSize(replicate)]
  tell('Calling `limits` and an echo in turn.')
  const calls = await limitsBesideEcho(farebox, oneTool, join(folder, 'calls'))
  return [
    { what: 'tarball', value: packed.bytes / 1024, unit: ' KiB' },
    { what: `unpacked, ${packed.files} files`, value: packed.unpackedBytes / 1024, unit: ' KiB' },
    { what: 'cold start, farebox mcp', value: medianOf(starts, 0), unit: ' ms', digits: 1 },
    {
      what: `cold start, server-everything ${serverEverything.version}`,
      value: medianOf(starts, 1),
      unit: ' ms',
      digits: 1,
    },
    {
      what: `cold start, replicate-mcp ${replicateMcp.version}`,
      value: medianOf(starts, 3),
      unit: ' ms',
      digits: 1,
    },
    { what: 'cold start, one-tool SDK server, bundled', value: medianOf(starts, 2), unit: ' ms', digits: 1 },
    {
      what: 'farebox / server-everything',
      value: medianRatio(starts, 0, 1),
      atMost: goals.coldStartToServerEverything,
      digits: 2,
    },
    { what: 'farebox / replicate-mcp', value: medianRatio(starts, 0, 3), digits: 2 },
    {
      what: 'farebox / one-tool SDK server',
      value: medianRatio(starts, 0, 2),
      atMost: goals.coldStartToOneTool,
      digits: 2,
    },
    { what: 'tools listed', value: size.tools, atMost: goals.tools },
    { what: 'tokens of names, descriptions, inputs', value: size.tokens, atMost: goals.listingTokens },
    { what: 'bytes of the whole listing', value: size.bytes, atMost: goals.listingBytes },
    { what: `tokens of server-everything, ${ofEverything.tools} tools`, value: ofEverything.tokens },
    { what: `tokens of replicate-mcp, ${ofReplicate.tools} tools`, value: ofReplicate.tokens },
    { what: 'p50 of an SDK echo', value: calls.echoMs, unit: ' ms', digits: 2 },
    {
      what: 'p50 of limits, beyond the echo',
      value: calls.limitsMs - calls.echoMs,
      atMost: goals.limitsBeyondEchoMs,
      unit: ' ms',
      digits: 2,
    },
  ]
}

/** Installs a server in a folder of its own; returns the path of the file that starts it. */
async function installPeer({ name, version }: { name: string; version: string }, file: string): Promise<string> {
  const peer = join(folder, name.replace('/', '-'))
  await install(peer, `${name}@${version}`)
  return join(peer, 'node_modules', name, file)
}

/** The same Node for all, and an environment without the user's settings. */
function command(name: string, ...args: [string, ...string[]]): ServerCommand {
  const { PATH, SystemRoot } = process.env
  return { name, program: process.execPath, args, env: { PATH, SystemRoot, HOME: folder, USERPROFILE: folder } }
}

function tell(sentence: string): void {
  process.stderr.write(`${sentence}\n`)
}
