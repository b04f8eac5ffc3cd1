import { expect, test } from 'vitest'
import { agentFromEnvironment, createAgent } from '#agent/create-agent.ts'
import type { AgentOptions } from '#agent/settings/agent-options.ts'
import { temporaryFolder } from './open-agent.ts'

const baseUrl = 'https://api.example.com/api/v1'

test.each([
  ['no options at all', undefined, /^createAgent: .*object with baseUrl, key/],
  ['no address', {}, '`baseUrl` is missing (string).'],
  ['an address of another type', { baseUrl: new URL(baseUrl) }, '`baseUrl` must be of type string.'],
  [
    'a misspelled policy',
    { baseUrl, polcy: { maxDayUsd: '1' } },
    /`polcy` is not an option; the options are .* Did you mean `policy`\?/,
  ],
  ['a cap beside the policy', { baseUrl, maxDayUsd: '1' }, /`maxDayUsd` is not an option; the options are .*policy/],
  ['an invalid cap', { baseUrl, policy: { maxDayUSD: '1' } }, /maxDayUSD is not a setting.*maxDayUsd/],
  ['an amount that is none', { baseUrl, policy: { maxDayUsd: '-1' } }, /maxDayUsd is not an amount in USD/],
  ['a key that is none', { baseUrl, wallet: { key: 'abc' } }, /The wallet's key is not an EVM private key/],
  ['a policy that is not an object', { baseUrl, policy: 'tight' }, '`policy` must be an object.'],
  [
    'a misspelled key of a wallet',
    { baseUrl, wallet: { solana: 'x' } },
    /`wallet.solana` is not an option; the options are key, solanaKey\./,
  ],
  ['another word for unpriced calls', { baseUrl, unpricedCalls: 'yes' }, '`unpricedCalls` must be one of ask, allow.'],
  ['an answer in place of a function', { baseUrl, onApproval: true }, '`onApproval` must be a function.'],
])('createAgent refuses %s with a sentence', async (_, options, says) => {
  const error = await createAgent(options as AgentOptions).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(TypeError)
  expect(String((error as Error).message)).toEqual(
    typeof says === 'string' ? `createAgent: ${says}` : expect.stringMatching(says),
  )
})

test('the sentence contains no value of an option', async () => {
  const options = { baseUrl, wallet: { key: 4711 } } as unknown as AgentOptions
  const error = await createAgent(options).catch((thrown: unknown) => thrown)
  expect(String(error)).toBe('TypeError: createAgent: `wallet.key` must be of type string.')
})

test('agentFromEnvironment refuses an unknown option', async () => {
  const options = { environment: {} } as never
  await expect(agentFromEnvironment(options)).rejects.toThrow(
    /`environment` is not an option; the options are env, passphrase/,
  )
})

test('an option that is undefined counts as absent', async () => {
  const agent = await createAgent({ baseUrl, dataFolder: temporaryFolder(), vendor: undefined, onApproval: undefined })
  await agent.close()
})

test('a call of a closed agent says that it is closed', async () => {
  const agent = await createAgent({ baseUrl, dataFolder: temporaryFolder() })
  await agent.close()
  await expect(agent.fetch(`${baseUrl}/models`)).rejects.toThrow('This agent is closed. Create another one.')
})
