import { describe, expect, test } from 'vitest'
import { readNetwork, TrustedProxies } from '#access/identity/trusted-proxies.ts'

const near = '127.0.0.1'
const trusted = [near, '10.0.0.0/8', 'fd00::/8']
const caller = '203.0.113.7'

type Headers = Record<string, string[]>
type Rule = [rule: string, peer: string, headers: Headers, address: string]

const xff = (...values: string[]): Headers => ({ 'x-forwarded-for': values })
const forwarded = (...values: string[]): Headers => ({ forwarded: values })

const rules: Rule[] = [
  ['no header: the peer', near, {}, near],
  ['a peer that is not trusted says nothing', '198.51.100.1', xff(caller), '198.51.100.1'],
  ['the entry of the trusted peer', near, xff(caller), caller],
  ['what a caller forged stands to the left', near, xff(`6.6.6.6, ${caller}`), caller],
  ['a chain of trusted proxies', near, xff(`6.6.6.6, ${caller}, 10.1.2.3, 10.9.9.9`), caller],
  ['several lines are one list', near, xff('6.6.6.6', caller, '10.1.2.3'), caller],
  ['all of them trusted: the first', near, xff('10.1.1.1, 10.1.2.3'), '10.1.1.1'],
  ['an entry that is not an address ends the search', near, xff(`${caller}, unknown, 10.1.2.3`), '10.1.2.3'],
  ['an empty entry ends it', near, xff(`${caller}, `), near],
  ['a caller with a port', near, xff(`${caller}:4711`), caller],
  ['IPv6', near, xff('2001:db8::7'), '2001:db8::7'],
  ['IPv6 in brackets with a port', near, xff('[2001:db8::7]:4711'), '2001:db8::7'],
  ['a zone is not an address', near, xff('fe80::1%eth0'), near],
  ['an IPv6 proxy', 'fd00::1', xff(caller), caller],
  ['an IPv6 proxy with a zone', 'fd00::1%eth0', xff(caller), caller],
  ['a mapped IPv4 peer is its IPv4', `::ffff:${near}`, xff(caller), caller],
  ['a mapped IPv4 entry is its IPv4', near, xff(`${caller}, ::ffff:10.1.2.3`), caller],
  ['Forwarded', near, forwarded(`for=${caller};proto=https`), caller],
  ['Forwarded, quoted with a port', near, forwarded('for="[2001:db8::7]:4711"'), '2001:db8::7'],
  ['Forwarded, a chain', near, forwarded(`for=6.6.6.6, for=${caller};by=10.1.1.1, For="10.1.2.3"`), caller],
  ['Forwarded, hidden', near, forwarded('for=_hidden'), near],
  ['Forwarded, without a for', near, forwarded(`for=${caller}, proto=https`), near],
  ['Forwarded, a quote that swallows the next', near, forwarded(`for="6.6.6.6, for=${caller}`), near],
  ['Forwarded, a comma within a quote', near, forwarded(`for="6.6.6.6,";by=x, for=${caller}`), caller],
  ['Forwarded, an escape within a quote', near, forwarded(`for="203.0\\.113.7"`), caller],
  [
    'Forwarded, an escaped quote does not end a value',
    near,
    forwarded(`host="a\\";for=6.6.6.6;b=\\"";for=${caller}`),
    caller,
  ],
  [
    'Forwarded, a quoted value that only looks like a for',
    near,
    forwarded(`host="a;for=6.6.6.6;b";for=${caller}`),
    caller,
  ],
  ['Forwarded, a for only within a quote', near, forwarded('host="a;for=6.6.6.6;b"'), near],
  [
    'Forwarded, a quoted value cannot begin an element',
    near,
    forwarded(`host="a,for=6.6.6.6,b";for=${caller}`),
    caller,
  ],
  ['Forwarded, two for in one element', near, forwarded(`for=6.6.6.6;for=${caller}`), near],
  ['Forwarded, another parameter whose name ends in for', near, forwarded('xfor=6.6.6.6'), near],
  ['Forwarded, empty pairs', near, forwarded(`;; for=${caller} ;;`), caller],
  ['Forwarded, a name without a value', near, forwarded(`for=${caller};proto`), near],
  ['Forwarded, text after a quoted value', near, forwarded(`for="${caller}"6`), near],
  ['Forwarded, a quote that never ends in an escape', near, forwarded('for="6.6.6.6\\'), near],
  ['Forwarded, a line of 4,096 characters', near, forwarded(`for=${caller}`.padStart(4_096, ';')), caller],
  ['Forwarded, a longer line', near, forwarded(`for=${caller}`.padStart(4_097, ';')), near],
  ['both, of one word', near, { ...xff(caller), ...forwarded(`for=${caller}`) }, caller],
  ['both, of two words: neither', near, { ...xff(caller), ...forwarded('for=6.6.6.6') }, near],
]

test.each(rules)('%s', (_rule, peer, headers, address) => {
  expect(new TrustedProxies(trusted).callerOf(peer, name => headers[name] ?? [])).toBe(address)
})

test('without trusted proxies no header counts, not even from this machine', () => {
  expect(new TrustedProxies([]).callerOf(near, () => [caller])).toBe(near)
})

describe('a header costs no more time than its characters', () => {
  // Each made one of the patterns that read the header before try every way to divide it.
  const pieces = [
    ';  ',
    '; ',
    ' ',
    ';',
    ',',
    ', ',
    'a=',
    'a=b;',
    'a=b ;',
    '"',
    '\\"',
    '\\\\',
    'a="',
    '="a;',
    ':',
    '[',
    '::',
    '1.',
    '%',
  ]
  const ends = ['', '@', '"', '\\']
  const lines = pieces.flatMap(piece => ends.map(end => `${piece.repeat(8_000 / piece.length)}${end}`))
  const short = pieces.flatMap(piece => ends.map(end => `${piece.repeat(17)}${end}`))
  test.each([
    ['some dozen characters', short],
    ['thousands of characters', lines],
    ['the longest line that is read', lines.map(line => line.slice(-4_096))],
  ])('%s', (_name, values) => {
    const proxies = new TrustedProxies(trusted)
    for (const value of values) {
      const startedMs = performance.now()
      proxies.callerOf(near, name => (name === 'forwarded' ? [value] : []))
      proxies.callerOf(near, name => (name === 'x-forwarded-for' ? [value] : []))
      // An exponential pattern takes days for these; the bound is far above any slow machine.
      expect(performance.now() - startedMs, JSON.stringify(value.slice(-60))).toBeLessThan(5_000)
    }
  })
})

describe('networks', () => {
  test.each(['127.0.0.1', '10.0.0.0/8', '0.0.0.0/0', '::1', 'fd00::/8', '::/0'])('%s is one', text => {
    expect(readNetwork(text)).not.toBeNull()
  })
  test.each([
    '',
    'proxy',
    '10.0.0.0/33',
    '::1/129',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '10.0.0/8',
    'fe80::1%eth0',
    '1.2.3.4/-1',
  ])('%s is not one', text => {
    expect(readNetwork(text)).toBeNull()
    expect(() => new TrustedProxies([text])).toThrow('not an address or a network')
  })
})
