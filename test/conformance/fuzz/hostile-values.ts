/** Values that are sent where something else is expected. */
export const hostileValues: readonly (() => unknown)[] = [
  () => null,
  () => true,
  () => -1,
  () => 0,
  () => 1e308,
  () => Number.MAX_SAFE_INTEGER,
  () => 0.1,
  () => '',
  () => '\0',
  () => '\u202e\u200b\ufeff',
  () => '\ud800',
  () => '{{7*7}} $(x) %s \r\nX-Injected: 1',
  () => '../../etc/passwd',
  () => 'a'.repeat(20_000),
  () => '9'.repeat(400),
  () => [],
  () => {},
  () => [[[[]]]],
  () => Array.from({ length: 500 }, () => ({})),
  () => nested(40),
  () => ({ constructor: { prototype: { polluted: true } } }),
  () => JSON.parse('{"__proto__":{"polluted":true}}'),
  () => 'http://127.0.0.1:1/',
  () => 'data:image/png;base64,AAAA',
  () => 'data:image/png;base64,!!!',
]

function nested(depth: number): unknown {
  let value: unknown = 'x'
  for (let level = 0; level < depth; level++) value = level % 2 ? [value] : { a: value }
  return value
}

/** Bodies that are no JSON, or JSON of another mind. */
export const brokenBodies: readonly ((good: string) => string)[] = [
  good => good.slice(0, Math.floor(good.length / 2)),
  good => `${good}${good}`,
  good => good.replace(/}$/, ',}'),
  good => `\ufeff${good}`,
  good => good.replaceAll('"', "'"),
  good => good.replace(/:\s*"[^"]*"/, ':NaN'),
  good => good.replace(/:\s*("[^"]*"|\d+)/, ':1e999'),
  good => good.replace(/:\s*("[^"]*"|\d+)/, ':123456789012345678901234567890'),
  good => good.replace('{', '{"model":1,"model":2,'),
  () => '[',
  () => '"',
  () => 'null',
  () => '[]',
  () => '0',
  () => '   ',
  () => '{"a":'.repeat(5_000),
  () => '['.repeat(100_000),
  () => `{"x":[${'0,'.repeat(200_000)}0]}`,
  () => '{"\\ud800":"\\udfff"}',
  () => '\u0000',
]

/** Headers beside a request that may be good. */
export const strangeHeaders: readonly Readonly<Record<string, string>>[] = [
  { 'content-type': 'text/plain' },
  { 'content-type': 'application/json; charset=utf-16' },
  { 'content-type': 'multipart/form-data; boundary=x' },
  { 'content-type': 'multipart/form-data' },
  { 'content-encoding': 'gzip' },
  { 'idempotency-key': 'a key with spaces' },
  { 'idempotency-key': 'x'.repeat(256) },
  { 'idempotency-key': 'k' },
  { 'accept-encoding': 'br;q=0, gzip;q=0, *' },
  { 'accept-encoding': 'gzip, br' },
  { accept: 'text/csv' },
  { 'x-farebox-want-receipt': 'true' },
  { 'x-farebox-want-receipt': 'perhaps' },
  { 'payment-signature': 'AAAA' },
  { 'x-forwarded-for': '127.0.0.1, ::1' },
  { 'sign-in-with-x': 'e30=' },
  { 'sign-in-with-x': 'x'.repeat(9_000) },
  { authorization: 'Bearer' },
  { authorization: 'Basic YTpi' },
  { authorization: `Bearer ${'x'.repeat(5_000)}` },
  { 'content-length': '99999999999' },
  { range: 'bytes=0-' },
]

/** Parts of a path and of a query. */
export const strangeParts = [
  ...[
    'x',
    '..',
    '%2e%2e%2f',
    '%00',
    '%ff',
    '%',
    "'",
    '"',
    '%F0%9F%92%A9',
    '0x',
    '-1',
    'NaN',
    'null',
    '[object Object]',
  ],
  ...['a'.repeat(3_000), '1e3', '999999999999999999999', '019ab000-0000-7000-8000-000000000000', '__proto__'],
]
