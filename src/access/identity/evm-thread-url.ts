/** What the bundle calls the file of these threads; the build makes it an entry point beside the others. */
const bundledName = './evm-signature-thread.js'

/** The one place that knows where such a thread starts: its source in a checkout, a file of its own in the bundle. */
export const evmThreadUrl = (): URL =>
  import.meta.url.endsWith('.ts') ? new URL('./evm-thread.ts', import.meta.url) : new URL(bundledName, import.meta.url)
