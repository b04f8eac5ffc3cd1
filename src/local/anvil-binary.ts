import { createRequire } from 'node:module'
import { LocalChainError } from './local-chain-error.ts'

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' }

/** The path of anvil's binary, which lies in a package of its own for each platform. Throws `LocalChainError`. */
export function findAnvilBinary(
  resolve: (specifier: string, from: string) => string = (specifier, from) => createRequire(from).resolve(specifier),
  platform: string = process.platform,
  architecture: string = process.arch,
): string {
  const file = platform === 'win32' ? 'anvil.exe' : 'anvil'
  const name = `@foundry-rs/anvil-${platform}-${ARCHITECTURES[architecture] ?? architecture}`
  let anvil: string
  try {
    anvil = resolve('@foundry-rs/anvil/package.json', import.meta.url)
  } catch (cause) {
    throw new LocalChainError(
      'The local chain needs the package @foundry-rs/anvil, which is not installed; run npm install @foundry-rs/anvil.',
      { cause },
    )
  }
  try {
    return resolve(`${name}/bin/${file}`, anvil)
  } catch (cause) {
    throw new LocalChainError(
      `The local chain needs the package ${name}, which is not installed; run npm install without --omit=optional on a platform that anvil supports.`,
      { cause },
    )
  }
}
