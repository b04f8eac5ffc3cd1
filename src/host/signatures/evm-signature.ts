import { onceLoaded } from '../packages.ts'

/**
 * Half of the order of secp256k1, in hexadecimal. Every signature has a twin with a larger `s`, which wallets never
 * produce.
 */
const largestS = '7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0'

const evmSignature = /^0x[\da-fA-F]{130}$/

/** Whether a text is 65 bytes with an `s` that wallets produce: only these reach the curve's arithmetic. */
export const isEvmSignature = (text: string): boolean => evmSignature.test(text) && hasLowS(text)

/**
 * Whether the `s` of 65 bytes in hexadecimal is the lower of the two that twin signatures have. Both texts have the
 * same length, so comparing them compares the numbers.
 */
export const hasLowS = (signature: string): boolean => signature.slice(66, 130).toLowerCase() <= largestS

/** The last byte of a signature, as wallets write it, and which of two keys it selects. */
const recoveryBits: Readonly<Record<string, 0 | 1>> = { '00': 0, '01': 1, '1b': 0, '1c': 1 }

interface EvmSigners {
  /** Returns the address, in lower case, whose key signed the 32-byte digest; null if the signature is invalid. */
  ofDigest(digest: Uint8Array, signature: string): string | null
  /** Returns the address whose key signed a text, which wallets do by EIP-191. */
  ofMessage(message: string, signature: string): string | null
}

/** Recovers signers; loaded on first use. */
export const evmSigners = onceLoaded(async () => evmSignersBy(await keyRecovery()))

export async function evmSignersBy(recovery: KeyRecovery): Promise<EvmSigners> {
  const keccak256 = await loadKeccak256()
  const ofDigest: EvmSigners['ofDigest'] = (digest, signature) => {
    if (!isEvmSignature(signature)) return null
    const bit = recoveryBits[signature.slice(130).toLowerCase()]
    if (bit === undefined) return null
    const key = recovery.keyOf(digest, Buffer.from(signature.slice(2, 130), 'hex'), bit)
    // The first byte is the key's encoding; an address is the end of the hash of the rest.
    return key && `0x${Buffer.from(keccak256(key.subarray(1)).subarray(12)).toString('hex')}`
  }
  return {
    ofDigest,
    ofMessage(message, signature) {
      if (!isEvmSignature(signature)) return null
      const text = Buffer.from(message)
      const prefix = Buffer.from(`\x19Ethereum Signed Message:\n${text.length}`)
      return ofDigest(keccak256(Buffer.concat([prefix, text])), signature)
    },
  }
}

/** Recovers the key that made a signature on the curve secp256k1. */
interface KeyRecovery {
  readonly by: 'addon' | 'wasm' | 'script'
  /**
   * Returns the key in 65 bytes, for a 64-byte signature (`r` and `s`) over a 32-byte digest. Null if no key can have
   * made it: `r` or `s` is zero or not below the order, `r` is not the `x` of a point, or the key would not be a point.
   */
  keyOf(digest: Uint8Array, signature: Uint8Array, bit: 0 | 1): Uint8Array | null
}

type Recover = (digest: Uint8Array, signature: Uint8Array, bit: 0 | 1) => Uint8Array | null

/** The implementations by name, fastest first. Each rejects if it is not available here. */
export const recoveries = {
  addon: async () => recoveryBy('addon', await addon()),
  wasm: async () => recoveryBy('wasm', await wasm()),
  script: async () => recoveryBy('script', await script()),
}

/** The fastest implementation that is available here. */
export const keyRecovery = onceLoaded(() =>
  recoveries.addon().catch(() => recoveries.wasm().catch(() => recoveries.script())),
)

interface Addon {
  ecdsaRecover(signature: Uint8Array, bit: number, digest: Uint8Array, compressed: boolean): Uint8Array
}

/** libsecp256k1, 60 µs per key: from an optional package, which has addons for some machines. */
async function addon(): Promise<Recover> {
  // Its main file would fall back to JavaScript if the addon is missing. The name is not a literal, so that neither
  // types nor bundle require a package that may be missing.
  const bindings: string = 'secp256k1/bindings.js'
  const { default: curve } = (await import(bindings)) as { default: Addon }
  return (digest, signature, bit) => curve.ecdsaRecover(signature, bit, digest, false)
}

/** libsecp256k1, 250 µs per key: its WebAssembly is a file next to the bundle. */
async function wasm(): Promise<Recover> {
  const { recover } = await import('tiny-secp256k1')
  return (digest, signature, bit) => recover(digest, signature, bit, false)
}

/** 1,700 µs per key. The bundle for desktop assistants has only this one, because it contains no binary files. */
async function script(): Promise<Recover> {
  const { secp256k1 } = await import('@noble/curves/secp256k1')
  return (digest, signature, bit) =>
    secp256k1.Signature.fromCompact(signature).addRecoveryBit(bit).recoverPublicKey(digest).toRawBytes(false)
}

/**
 * Each throws for an invalid signature. Lengths and bit have been checked by then, so it has no other reason to throw.
 */
const recoveryBy = (by: KeyRecovery['by'], recover: Recover): KeyRecovery => ({
  by,
  keyOf(digest, signature, bit) {
    try {
      return recover(digest, signature, bit)
    } catch {
      return null
    }
  },
})

/** The hash that Ethereum uses, 32 bytes; Node only has the later standard. */
type Keccak256 = (bytes: Uint8Array) => Uint8Array

/** As WebAssembly inside the code: 2 µs for a sign-in message, where JavaScript takes 20. */
export const loadKeccak256: () => Promise<Keccak256> = onceLoaded(async () => {
  const { createKeccak } = await import('hash-wasm')
  const hasher = await createKeccak(256)
  return bytes => hasher.init().update(bytes).digest('binary')
})

/** Returns an EVM address with the capitals of EIP-55: wallets recognize a sign-in message only by those. */
export async function checksumAddress(address: string): Promise<string> {
  const digits = address.slice(2).toLowerCase()
  const hash = Buffer.from((await loadKeccak256())(Buffer.from(digits))).toString('hex')
  const isCapital = (index: number) => Number.parseInt(hash.charAt(index), 16) >= 8
  return `0x${[...digits].map((digit, index) => (isCapital(index) ? digit.toUpperCase() : digit)).join('')}`
}
