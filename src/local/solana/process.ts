import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { FOLDER_LOOK_MS, STATE_INTERVAL_S } from '../limits.ts'
import { SolanaNode } from './node.ts'
import { serveNode, solanaMethods } from './rpc-server.ts'
import { readState, writeState } from './state-file.ts'
import { installUsdc } from './token.ts'

/** The process of a local Solana chain: its arguments are its state's path and the port on loopback. */
const [statePath = '', port = ''] = process.argv.slice(2)

const node = await SolanaNode.open(readState(statePath))
installUsdc(node)

let due: NodeJS.Timeout | undefined
const save = () => {
  clearTimeout(due)
  due = undefined
  writeState(statePath, node.state())
}
/** A kill may lose what happened since the last save. */
const changed = () => {
  due ??= setTimeout(save, STATE_INTERVAL_S * 1_000)
}

const server = serveNode(node, solanaMethods(randomUUID(), changed))
process.on('SIGTERM', () => {
  // A stop waits until the port is free, and by then the state must be on disk.
  save()
  process.exit(0)
})
server.listen(Number(port), '127.0.0.1')

// If its folder was removed, no process can find or stop this chain any more.
setInterval(() => {
  if (!existsSync(dirname(statePath))) process.exit(0)
}, FOLDER_LOOK_MS)
