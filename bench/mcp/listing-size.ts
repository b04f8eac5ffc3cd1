import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { LineServer, type ServerCommand } from './line-server.ts'

export interface ListingSize {
  tools: number
  /** Of name, description and input schema: what an assistant pays for in each conversation. */
  tokens: number
  /** Of the whole answer. */
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
