import type { Client } from '@modelcontextprotocol/client'

/** An MCP client like an assistant's, connected to a spawned `farebox mcp`. */
export interface Assistant {
  call(tool: string, args: Record<string, unknown>): Promise<ToolAnswer>
  close(): Promise<void>
}

export interface ToolAnswer {
  isError: boolean
  text: string
  data: Record<string, unknown>
}

/** Answers requests to the user, in place of a user. */
export type UserAnswers = (message: string, boxes: readonly string[]) => Record<string, boolean>

/** A tool that waits for a job may take this long; each call of it ends within 45 s. */
const callTimeoutMs = 90_000

export async function openAssistant(options: {
  command: readonly [string, ...string[]]
  env: Record<string, string>
  answers: UserAnswers
  /** Ends calls that are in flight. */
  signal: AbortSignal
}): Promise<Assistant> {
  const [{ Client: McpClient }, { StdioClientTransport }] = await Promise.all([
    import('@modelcontextprotocol/client'),
    import('@modelcontextprotocol/client/stdio'),
  ])
  const [program, ...args] = options.command
  const client = new McpClient({ name: 'farebox-journey', version: '1' }, { capabilities: { elicitation: {} } })
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    const properties = 'requestedSchema' in params ? Object.keys(params.requestedSchema.properties) : []
    return { action: 'accept', content: options.answers(params.message, properties) }
  })
  await client.connect(
    new StdioClientTransport({ command: program, args: [...args, 'mcp'], env: options.env, stderr: 'inherit' }),
  )
  return {
    call: (tool, given) => callTool(client, tool, given, options.signal),
    close: () => client.close(),
  }
}

async function callTool(
  client: Client,
  tool: string,
  given: Record<string, unknown>,
  signal: AbortSignal,
): Promise<ToolAnswer> {
  const result = await client.callTool(
    { name: tool, arguments: given },
    {
      timeout: callTimeoutMs,
      signal,
    },
  )
  const text = result.content.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('\n')
  return {
    isError: result.isError === true,
    text,
    data: (result.structuredContent ?? {}) as Record<string, unknown>,
  }
}
