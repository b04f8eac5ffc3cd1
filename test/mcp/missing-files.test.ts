/** A file of the package that is missing or unreadable when it is first needed. */
import { expect, test } from 'vitest'
import { catalogue } from './catalogue.ts'
import { connect } from './connect.ts'
import { fakeHost } from './fake-host.ts'

const gone = Object.assign(
  new Error("Cannot find module '/home/ann/farebox/dist/models-Bx1.js' imported from /home/ann/farebox/dist/start.js"),
  { code: 'ERR_MODULE_NOT_FOUND' },
)
const none = <Entries extends object>(entries: Entries) =>
  Object.fromEntries(Object.keys(entries).map(name => [name, () => Promise.reject(gone)]))

const withoutFiles = {
  tools: none(catalogue.tools),
  prompts: none(catalogue.prompts),
  resources: none(catalogue.resources),
}

type Client = Awaited<ReturnType<typeof connect>>['client']

const ways: [method: string, where: string, ask: (client: Client) => Promise<unknown>][] = [
  ['tools/call', 'limits', client => client.callTool({ name: 'limits', arguments: {} })],
  ['resources/read', 'models', client => client.readResource({ uri: 'farebox://models' })],
  ['resources/read of a template', 'receipt', client => client.readResource({ uri: 'farebox://receipts/rcpt_1' })],
  [
    'prompts/get',
    'set-up-wallet',
    client => client.getPrompt({ name: 'set-up-wallet', arguments: { budget_usd: '5' } }),
  ],
  [
    'completion/complete of a prompt',
    'completion/complete',
    client =>
      client.complete({
        ref: { type: 'ref/prompt', name: 'compare-models' },
        argument: { name: 'first', value: 'v' },
      }),
  ],
  [
    'completion/complete of a template',
    'completion/complete',
    client =>
      client.complete({
        ref: { type: 'ref/resource', uri: 'farebox://models/{id}' },
        argument: { name: 'id', value: 'd' },
      }),
  ],
]

test.each(ways)('%s says so in our words, with a reference to the log', async (_, where, ask) => {
  const connection = await connect({ host: fakeHost().host, catalogue: withoutFiles })
  try {
    const said = await ask(connection.client).then(
      answer => JSON.stringify(answer),
      error => String(error),
    )
    const reference = /Internal error, reference (\w{8}); see the log of the server\./.exec(said)?.[1]
    expect(said).not.toContain('/home/ann')
    expect(connection.log.map(line => JSON.parse(line))).toMatchObject([
      { reference, where, reason: expect.stringMatching(/^Cannot find module/) },
    ])
  } finally {
    await connection.disconnect()
  }
})
