import type { AskedFile } from '#wallet/terms/about-call.ts'

/** A medium that was given by its address or its bytes: no path, and nothing of an address that may be a key. */
export function mediumGiven(source: string): AskedFile | null {
  if (/^data:/i.test(source)) {
    const at = source.indexOf(',')
    return { name: null, bytes: at < 0 ? 0 : Buffer.byteLength(source.slice(at + 1), 'base64') }
  }
  if (!/^https?:\/\//i.test(source) || !URL.canParse(source)) return null
  const { protocol, host, pathname } = new URL(source)
  const fileName = /[\w-]{1,60}\.[a-z0-9]{1,5}$/i.exec(pathname)?.[0]
  return { name: `${protocol}//${host}/…${fileName === undefined ? '' : `/${fileName}`}`, bytes: null }
}
