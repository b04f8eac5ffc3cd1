import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

const derive = promisify<string, Uint8Array, number, object, Buffer>(scrypt)

/** The cost that OWASP recommends for 32 MiB of memory: about a quarter of a second on a server. */
export const passwordCost = { logN: 15, r: 8, p: 3 }
const saltBytes = 16
const hashBytes = 32

type Cost = typeof passwordCost

/** Keyboards differ in how they compose a letter, so equal texts are compared in one form. */
const hashed = (password: string, salt: Uint8Array, { logN, r, p }: Cost): Promise<Buffer> =>
  derive(password.normalize('NFKC'), salt, hashBytes, { N: 2 ** logN, r, p, maxmem: 2 ** (logN + 8) * r })

const written = ({ logN, r, p }: Cost, salt: Buffer, hash: Buffer): string =>
  ['scrypt', logN, r, p, salt.toString('base64url'), hash.toString('base64url')].join('.')

/** Returns the hash with its salt and cost, as the ledger's store keeps it. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(saltBytes)
  return written(passwordCost, salt, await hashed(password, salt, passwordCost))
}

/** No password has this hash; checking one takes as long as with a real hash. */
const absentHash = () => written(passwordCost, Buffer.alloc(saltBytes), Buffer.alloc(hashBytes))

/** Takes the same time without a hash, so that the time does not reveal which operators have a password. */
export async function isPassword(password: string, hash: string | null): Promise<boolean> {
  const [, logN, r, p, salt = '', right = ''] = (hash ?? absentHash()).split('.')
  const given = { logN: Number(logN), r: Number(r), p: Number(p) }
  const made = await hashed(password, Buffer.from(salt, 'base64url'), given)
  const expected = Buffer.from(right, 'base64url')
  return expected.length === made.length && timingSafeEqual(expected, made) && hash !== null
}
