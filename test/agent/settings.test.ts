import { expect, test } from 'vitest'
import { readSettings } from '#agent/settings.ts'

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
  ['FAREBOX_MAX_PAYMENT_USD', '5 USD'],
  ['FAREBOX_MAX_DAY_USD', '1e3'],
  ['FAREBOX_MAX_TOTAL_USD', '-1'],
  ['FAREBOX_MAX_CALL_USD', '1000001'],
  ['FAREBOX_ASK_ABOVE_USD', 'NaN'],
  ['FAREBOX_MAX_CAL_USD', 'a cap that nobody would read'],
])('%s=%s is one sentence that names it and repeats no value', (name, value) => {
  const { problems } = readSettings({ [name]: value })
  expect(problems).toHaveLength(1)
  expect(problems[0]).toMatch(new RegExp(`^${name} .*\\.$`))
  expect(problems[0]).not.toContain(value)
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
