import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import type { PasskeyCreation, PasskeyRequest } from '#pages/console/wire.ts'

const sha256 = (data: string | Buffer): Buffer => createHash('sha256').update(data).digest()

/** The little of CBOR that an attestation needs. */
function cbor(value: number | string | Buffer | Map<number | string, unknown>): Buffer {
  const head = (major: number, length: number): Buffer => {
    if (length < 24) return Buffer.from([(major << 5) | length])
    return length < 256
      ? Buffer.from([(major << 5) | 24, length])
      : Buffer.from([(major << 5) | 25, length >> 8, length & 255])
  }
  if (typeof value === 'number') return value >= 0 ? head(0, value) : head(1, -1 - value)
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value])
  const pairs = [...value].flatMap(([name, each]) => [cbor(name), cbor(each as never)])
  return Buffer.concat([head(5, value.size), ...pairs])
}

const [present, verified, attested] = [0x01, 0x04, 0x40]

interface Terms {
  /** What the browser says where it is. */
  origin: string
  isVerified?: boolean
  /** Overrides the authenticator's own count. */
  counter?: number
  rpId?: string
  format?: string
}

/** An authenticator as a program: one passkey, of which a test can change what it says. */
export class SoftwareAuthenticator {
  readonly id = randomBytes(16)
  readonly #keys: { privateKey: KeyObject; publicKey: KeyObject } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  counter = 0

  register({ challenge, rp }: PasskeyCreation, { origin, isVerified = true, rpId = rp.id, format = 'none' }: Terms) {
    const { x = '', y = '' } = this.#keys.publicKey.export({ format: 'jwk' })
    const key = cbor(
      new Map<number, number | Buffer>([
        ...([
          [1, 2],
          [3, -7],
          [-1, 1],
        ] as const),
        ...([
          [-2, Buffer.from(x, 'base64url')],
          [-3, Buffer.from(y, 'base64url')],
        ] as const),
      ]),
    )
    const length = Buffer.from([0, this.id.length])
    const credential = Buffer.concat([Buffer.alloc(16), length, this.id, key])
    const data = Buffer.concat([this.#data(rpId, present | attested | (isVerified ? verified : 0), 0), credential])
    const object = cbor(
      new Map<string, unknown>([
        ['fmt', format],
        ['attStmt', new Map()],
        ['authData', data],
      ]),
    )
    return this.#credential({
      clientDataJSON: clientData('webauthn.create', challenge, origin).toString('base64url'),
      attestationObject: object.toString('base64url'),
      transports: ['internal'],
    })
  }

  sign({ challenge, rpId }: PasskeyRequest, { origin, isVerified = true, counter, ...terms }: Terms) {
    this.counter++
    const data = this.#data(terms.rpId ?? rpId, present | (isVerified ? verified : 0), counter ?? this.counter)
    const client = clientData('webauthn.get', challenge, origin)
    const signature = sign('sha256', Buffer.concat([data, sha256(client)]), this.#keys.privateKey)
    return this.#credential({
      clientDataJSON: client.toString('base64url'),
      authenticatorData: data.toString('base64url'),
      signature: signature.toString('base64url'),
    })
  }

  #data(rpId: string, flags: number, counter: number): Buffer {
    const count = Buffer.alloc(4)
    count.writeUInt32BE(counter)
    return Buffer.concat([sha256(rpId), Buffer.from([flags]), count])
  }

  #credential<Response>(response: Response) {
    const id = this.id.toString('base64url')
    return { id, rawId: id, type: 'public-key', response, clientExtensionResults: {} }
  }
}

const clientData = (type: string, challenge: string, origin: string): Buffer =>
  Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }))
