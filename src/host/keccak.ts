import { onceLoaded } from './packages.ts'

/** The hash that Ethereum uses, of which Node has only the later standard: 32 bytes. */
export type Keccak256 = (bytes: Uint8Array) => Uint8Array

/** As WebAssembly, which is in the code: 2 µs for a sign-in message, where JavaScript takes 20. */
export const loadKeccak256: () => Promise<Keccak256> = onceLoaded(async () => {
  const { createKeccak } = await import('hash-wasm')
  const hasher = await createKeccak(256)
  return bytes => hasher.init().update(bytes).digest('binary')
})
