/** What the bundle calls the file of the writer's thread; the build makes it an entry point beside the others. */
const bundledName = './sqlite-writer-thread.js'

/** The one place that knows where the writer's thread starts: its source in a checkout, a file of its own in the bundle. */
export const writerThreadUrl = (): URL =>
  import.meta.url.endsWith('.ts')
    ? new URL('./writer-thread.ts', import.meta.url)
    : new URL(bundledName, import.meta.url)
