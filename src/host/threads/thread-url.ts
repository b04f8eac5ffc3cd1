/**
 * Where the thread of that name starts: the source beside whoever asks in a checkout, a file of its own in the bundle,
 * where all lie side by side. The build knows it by the same name.
 */
export const threadUrl = (name: string, asker: string): URL =>
  new URL(asker.endsWith('.ts') ? `./${name}.ts` : `./${name}.js`, asker)
