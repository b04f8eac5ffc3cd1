import type { Listing } from './listing.ts'

export interface FoundResource {
  /** In the catalogue. */
  name: string
  /** What stands for the template's variable; empty for a fixed address. */
  value: string
}

/** The resource of an address; fixed ones come before templates. Undefined where nothing of the listing has it. */
export function findResource({ resources, resourceTemplates }: Listing, uri: string): FoundResource | undefined {
  const fixed = resources.find(resource => resource.uri === uri)
  if (fixed) return { name: fixed.name, value: '' }
  for (const { name, uriTemplate } of resourceTemplates) {
    const value = valueIn(uriTemplate, uri)
    if (value !== undefined) return { name, value }
  }
  const linked = resourceTemplates.find(({ readsLinks }) => readsLinks && uri.startsWith(readsLinks))
  return linked && { name: linked.name, value: uri }
}

/** What an address has for the one variable of a template; undefined where it is not of it. Ids of models may have slashes. */
export function valueIn(uriTemplate: string, uri: string): string | undefined {
  const [before = '', after = ''] = uriTemplate.split(/\{[^}]*\}/)
  if (uri.length <= before.length + after.length || !uri.startsWith(before) || !uri.endsWith(after)) return undefined
  try {
    return decodeURIComponent(uri.slice(before.length, uri.length - after.length))
  } catch {
    return undefined
  }
}
