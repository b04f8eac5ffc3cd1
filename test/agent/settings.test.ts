import { readdirSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { agentFromEnvironment } from '#agent/create-agent.ts'
import { readSettings } from '#agent/settings/settings.ts'
import { dataFolderOf } from '#agent/settings/wallet-settings.ts'

const secret = 'ab'.repeat(31)

test.each([
  ['FAREBOX_BASE_URL', 'nothing'],
  ['FAREBOX_BASE_URL', 'http://example.com/api/v1'],
  ['FAREBOX_BASE_URL', 'https://me:pass@example.com/api/v1'],
  ['FAREBOX_API_KEY', 'sk 1\n2'],
  ['FAREBOX_WALLET_KEY', secret],
  ['FAREBOX_SOLANA_KEY', secret],
  ['FAREBOX_SOLANA_KEY', `${secret}1`],
  ['FAREBOX_SOLANA_RPC_URL', `node/${secret}`],
  ['FAREBOX_EVM_RPC_URL', `ftp://node/${secret}`],
  ['FAREBOX_VENDOR', 'Not-A-Word'],
  ['FAREBOX_PAYEE', '0x12'],
  ['FAREBOX_MAX_PAYMENT_USD', secret],
])('%s=%s is one sentence that names it and repeats no value', (name, value) => {
  const { problems } = readSettings({ [name]: value })
  expect(problems).toHaveLength(1)
  expect(problems[0]).toMatch(new RegExp(`^${name} .*\\.$`))
  expect(problems[0]).not.toContain(value)
})

test.each([
  ['FAREBOX_MAX_PAYMENT_USD', '5 USD'],
  ['FAREBOX_MAX_DAY_USD', '1e3'],
  ['FAREBOX_MAX_TOTAL_USD', '-1'],
  ['FAREBOX_MAX_CALL_USD', '1000001'],
  ['FAREBOX_ASK_ABOVE_USD', 'NaN'],
])('%s=%s is named with its value, which is too short to be a secret', (name, value) => {
  const { problems } = readSettings({ [name]: value })
  expect(problems).toEqual([expect.stringContaining(`${name} is \`${value}\`, which is not an amount in USD;`)])
})

test.each([
  ['FAREBOX_DRYRUN', 'FAREBOX_DRY_RUN'],
  ['FAREBOX_DRY', 'FAREBOX_DRY_RUN'],
  ['FAREBOX_MAX_CAL_USD', 'FAREBOX_MAX_CALL_USD'],
  ['FAREBOX_MAX_DAYS_USD', 'FAREBOX_MAX_DAY_USD'],
  ['FAREBOX_MAXDAYUSD', 'FAREBOX_MAX_DAY_USD'],
  ['FAREBOX_REFIL_BELOW_USD', 'FAREBOX_REFILL_BELOW_USD'],
  ['FAREBOX_UNPRICED_CALL', 'FAREBOX_UNPRICED_CALLS'],
  ['FAREBOX_PAYEES', 'FAREBOX_PAYEE'],
  ['FAREBOX_SOLANA_URL', 'FAREBOX_SOLANA_RPC_URL'],
])('%s, which is not a setting, is refused with a suggestion: %s', (name, meant) => {
  expect(readSettings({ [name]: '1' }).problems).toEqual([`${name} is not a setting. Did you mean ${meant}?`])
})

test('a bound on money that is like no setting is refused with all caps', () => {
  const [problem] = readSettings({ FAREBOX_BUDGET: '1' }).problems
  expect(problem).toMatch(/^FAREBOX_BUDGET is not a setting\. The caps are FAREBOX_MAX_PAYMENT_USD, .*\.$/)
})

test('a program is refused its agent by a misspelled variable', async () => {
  await expect(agentFromEnvironment({ env: { FAREBOX_DRYRUN: '1' } })).rejects.toThrow(
    new TypeError('FAREBOX_DRYRUN is not a setting. Did you mean FAREBOX_DRY_RUN?'),
  )
})

test('every variable that the code names is known, and what others set is left alone', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.ts'))
  const named = files.flatMap(file => readFileSync(`src/${file}`, 'utf8').match(/\bFAREBOX_[A-Z_]*[A-Z]\b/g) ?? [])
  expect(named.length).toBeGreaterThan(50)
  const foreign = ['FAREBOX_PORT', 'FAREBOX_PORT_8402_TCP_PROTO', 'FAREBOX_SERVICE_HOST', 'FAREBOX_OPENAI_API_KEY']
  const names = [...named, ...foreign, 'FAREBOX_TEST_ALL', 'FAREBOX_TEST_KEY', 'FAREBOX_FAULT_ORDER']
  expect(readSettings(Object.fromEntries(names.map(name => [name, '']))).problems).toEqual([])
})

test('an empty environment and a whole one have no problem', () => {
  expect(readSettings({}).problems).toEqual([])
  const { settings, problems } = readSettings({
    FAREBOX_BASE_URL: 'http://127.0.0.1:8402/api/v1',
    FAREBOX_WALLET_KEY: `0x${'1'.repeat(64)}`,
    FAREBOX_TOOLS: ' chat, limits ,',
    FAREBOX_MAX_DAY_USD: '2.50',
    FAREBOX_VENDOR: ' ',
  })
  expect(problems).toEqual([])
  expect(settings).toMatchObject({ tools: ['chat', 'limits'], vendor: undefined })
})

test.each([
  ['nothing', ''],
  ['blanks', '  '],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a client that has no answer hands down its own placeholder
  ['a missing answer', '${user_config.x}'],
])('%s counts as unset, in every variable', (_, value) => {
  const names = ['BASE_URL', 'API_KEY', 'WALLET_KEY', 'SOLANA_KEY', 'SOLANA_RPC_URL', 'DATA', 'OUTPUT_DIR', 'TOOLS']
  const variables = [...names, 'MAX_DAY_USD', 'ASK_ABOVE_USD', 'PAYEE', 'VENDOR', 'DRY_RUN'].map(
    name => `FAREBOX_${name}`,
  )
  const { settings, problems } = readSettings(Object.fromEntries(variables.map(name => [name, value])))
  expect(problems).toEqual([])
  expect(settings).toEqual(readSettings({}).settings)
})

// biome-ignore-start lint/suspicious/noTemplateCurlyInString: spellings of clients
test.each([
  '${FAREBOX_API_KEY}',
  '${FAREBOX_API_KEY:-}',
  '${env:FAREBOX_API_KEY}',
  '${input:farebox_api_key}',
  '{env:FAREBOX_API_KEY}',
  '$FAREBOX_API_KEY',
])('%s was not handed through', value => {
  expect(readSettings({ FAREBOX_API_KEY: value }).settings.apiKey).toBeUndefined()
})

test('a placeholder for something else is judged as it stands: a cap that is not read would be taken for one', () => {
  const { problems } = readSettings({ FAREBOX_MAX_DAY_USD: '${MY_LIMIT}', FAREBOX_BASE_URL: '${MY_SERVICE}' })
  expect(problems.map(problem => problem.split(' ')[0])).toEqual(['FAREBOX_BASE_URL', 'FAREBOX_MAX_DAY_USD'])
  expect(readSettings({ FAREBOX_API_KEY: 'a${user_config.x}' }).settings.apiKey).toBe('a${user_config.x}')
})
// biome-ignore-end lint/suspicious/noTemplateCurlyInString: spellings of clients

// biome-ignore lint/suspicious/noTemplateCurlyInString: clients leave it in the defaults of a bundle
test.each(['~', '${HOME}'])("%s is one's own folder, where no shell has read it", word => {
  const { settings } = readSettings({ FAREBOX_OUTPUT_DIR: `${word}/Downloads`, FAREBOX_DATA: `${word}/w` })
  expect(settings.outputFolder).toBe(`${homedir()}/Downloads`)
  expect(dataFolderOf(settings.env)).toBe(join(homedir(), 'w'))
  expect(readSettings({ FAREBOX_OUTPUT_DIR: `${word}x/a` }).settings.outputFolder).toBe(`${word}x/a`)
})
