import { Client } from '../../../src/client/client.ts'
import { download } from '../../../src/client/download/download.ts'
import { memorySampleMs } from '../bounds.ts'
import { idlePath } from './cutting-server.ts'

/** Downloads one file, and tells how much memory it took meanwhile; the harness kills it on the way. */
const [, , url = '', path = '', partPath = ''] = process.argv

/** How much more it has resident than a client that has had one small answer, in bytes. */
export interface MemoryTold {
  grownBytes: number
}

const client = new Client({ baseUrl: `${new URL(url).origin}/api/v1`, credential: null })
const small = await client.download(`${new URL(url).origin}${idlePath}`, {})
for await (const _ of small.body);

/** Without what only waits to be collected: of that Node lets 64 MB of socket buffers gather, whatever is read. */
function residentBytes(): number {
  globalThis.gc?.()
  return process.memoryUsage.rss()
}

const before = residentBytes()
const tell = () => process.send?.({ grownBytes: residentBytes() - before } satisfies MemoryTold)
const telling = setInterval(tell, memorySampleMs)
await download(client, url, { path, partPath, mimeType: 'video/mp4' })
tell()
clearInterval(telling)
await client.close()
process.disconnect?.()
