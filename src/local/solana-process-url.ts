/** What the bundle calls the file of that process; the build makes it an entry point beside the others. */
const bundledName = './solana-chain-process.js'

/** The one place that knows where the chain's process starts: its source in a checkout, a file of its own in the bundle. */
export const solanaProcessUrl = (): URL =>
  import.meta.url.endsWith('.ts')
    ? new URL('./solana/process.ts', import.meta.url)
    : new URL(bundledName, import.meta.url)
