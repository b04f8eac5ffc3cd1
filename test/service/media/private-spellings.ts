/** Addresses that must not be fetched for callers: this machine, its network, and the metadata services of clouds. */
const hidden = [
  '127.0.0.1',
  '10.1.2.3',
  '169.254.169.254',
  '192.168.1.1',
  '172.31.255.254',
  '100.100.100.200',
  '0.0.0.0',
] as const

type Bytes = [number, number, number, number]

const hex = (value: number, digits = 0) => value.toString(16).padStart(digits, '0')
const octal = (value: number) => `0${value.toString(8)}`
const whole = ([a, b, c, d]: Bytes) => ((a * 256 + b) * 256 + c) * 256 + d
const groups = ([a, b, c, d]: Bytes) => `${hex(a * 256 + b)}:${hex(c * 256 + d)}`
const fullWidth = (text: string) => text.replaceAll(/\d/g, digit => String.fromCodePoint(0xff10 + Number(digit)))
const percent = (text: string) => [...text].map(letter => `%${hex(letter.charCodeAt(0), 2)}`).join('')

/** How one address can be written, each in a way that some parser reads as that address. */
const hosts: Readonly<Record<string, (text: string, bytes: Bytes) => string>> = {
  dotted: text => text,
  'with a trailing dot': text => `${text}.`,
  'one decimal number': (_, bytes) => `${whole(bytes)}`,
  'one hexadecimal number': (_, bytes) => `0x${hex(whole(bytes), 8)}`,
  'one octal number': (_, bytes) => octal(whole(bytes)),
  'dotted hexadecimal': (_, bytes) => bytes.map(byte => `0x${hex(byte)}`).join('.'),
  'dotted octal': (_, bytes) => bytes.map(octal).join('.'),
  'two parts': (_, [a, b, c, d]) => `${a}.${(b * 256 + c) * 256 + d}`,
  'three parts': (_, [a, b, c, d]) => `${a}.${b}.${c * 256 + d}`,
  'parts of different bases': (_, [a, b, c, d]) => `0x${hex(a)}.${octal(b)}.${c * 256 + d}`,
  'percent-encoded': text => percent(text),
  'full-width digits': fullWidth,
  'ideographic full stops': text => text.replaceAll('.', '。'),
  'mapped into IPv6': text => `[::ffff:${text}]`,
  'mapped into IPv6, in groups': (_, bytes) => `[::ffff:${groups(bytes)}]`,
  'mapped into IPv6, in full': (_, bytes) => `[0:0:0:0:0:ffff:${groups(bytes)}]`,
  'IPv4-compatible': text => `[::${text}]`,
  'translated by NAT64': text => `[64:ff9b::${text}]`,
  'translated by a NAT64 of the network': text => `[64:ff9b:1::${text}]`,
  'through 6to4': (_, bytes) => `[2002:${groups(bytes)}::1]`,
  'through Teredo': (_, bytes) => `[2001:0:${groups(bytes)}::1]`,
}

const bytesOf = (text: string) => text.split('.').map(Number) as Bytes

/** How an address is written, and the address; none of them may be connected to. */
export const privateSpellings: readonly (readonly [how: string, url: string])[] = [
  ...hidden.flatMap(text =>
    Object.entries(hosts).map(([how, write]) => [`${text} ${how}`, `http://${write(text, bytesOf(text))}/`] as const),
  ),
  ['localhost', 'http://localhost/'],
  ['localhost in capitals', 'http://LOCALHOST/'],
  ['localhost with a trailing dot', 'http://localhost./'],
  ['a name below localhost', 'http://files.localhost/'],
  ['localhost in full-width letters', 'http://ｌｏｃａｌｈｏｓｔ/'],
  ['localhost in circled letters', 'http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/'],
  ['IPv6 loopback', 'http://[::1]/'],
  ['IPv6 loopback in full', 'http://[0000:0000:0000:0000:0000:0000:0000:0001]/'],
  ['no IPv6 address', 'http://[::]/'],
  ['a unique local address', 'http://[fd12:3456:789a::1]/'],
  ['the metadata address of IPv6', 'http://[fd00:ec2::254]/'],
  ['a link-local address', 'http://[fe80::1]/'],
  ['a multicast address', 'http://[ff02::1]/'],
  ['an IPv4 multicast address', 'http://224.0.0.1/'],
  ['broadcast', 'http://255.255.255.255/'],
  ['a name that resolves to this machine', 'http://loopback.example/'],
  ['a name that resolves to a neighbour', 'http://neighbour.example/'],
  ['a name with a public and a private address', 'http://both.example/'],
  ['a name with a private IPv6 address', 'http://six.example/'],
  ['a name that resolves to nothing', 'http://nothing.example/'],
  ['a public host as user', 'http://public.example@127.0.0.1/'],
  ['a public host as user and password', 'http://public.example:80@127.0.0.1/'],
  ['a backslash before the at', 'http://loopback.example\\@1.1.1.1/'],
  ['a backslash after the at', 'http://a@127.0.0.1\\@1.1.1.1/'],
  ['a tab inside', 'http://127.0.\t0.1/'],
  ['a line break inside', 'http://127.0\n.0.1/'],
  ['spaces around', '  http://127.0.0.1/  '],
  ['one slash', 'http:/127.0.0.1/'],
  ['no slash', 'http:127.0.0.1/'],
  ['many slashes', 'http:////127.0.0.1/'],
  ['backslashes', 'http:\\\\127.0.0.1\\'],
  ['a soft hyphen inside', 'http://127.0.0­.1/'],
  ['a zero-width space inside', 'http://local​host/'],
  ['https', 'https://127.0.0.1/'],
  ['a file', 'file:///etc/passwd'],
  ['a file of a host', 'file://127.0.0.1/etc/passwd'],
  ['gopher', 'gopher://127.0.0.1/_GET'],
  ['ftp', 'ftp://127.0.0.1/'],
  ['a socket of this machine', 'unix:///var/run/docker.sock'],
  ['a blob', 'blob:http://127.0.0.1/x'],
  ['no scheme', '//127.0.0.1/'],
  ['nothing', ''],
]
