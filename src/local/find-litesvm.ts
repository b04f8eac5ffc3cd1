import { createRequire } from 'node:module'

/**
 * Why there can be no local Solana chain here, as a sentence; null where there can. litesvm is an optional package, and
 * its binary lies in another one for each platform, of which there is none for some.
 */
export function solanaProblem(
  resolve: (specifier: string, from: string) => string = (specifier, from) => createRequire(from).resolve(specifier),
  platform: string = process.platform,
  architecture: string = process.arch,
): string | null {
  let litesvm: string
  try {
    litesvm = resolve('litesvm', import.meta.url)
  } catch {
    return 'The package litesvm is not installed, so there is no local Solana chain; npm install litesvm brings it.'
  }
  const names = [
    `litesvm-${platform}-${architecture}`,
    `litesvm-${platform}-${architecture}-gnu`,
    `litesvm-${platform}-${architecture}-musl`,
  ]
  const isThere = names.some(name => {
    try {
      return resolve(name, litesvm) !== ''
    } catch {
      return false
    }
  })
  return isThere
    ? null
    : `litesvm has no binary for ${platform} on ${architecture} here, so there is no local Solana chain.`
}
