/**
 * The vendor word stands in header names, in `service_parameters` and in `service_web_search_documents` (brief, preamble).
 * Everything inside speaks of `service`; only the edge of the wire knows another word.
 */
export const defaultVendor = 'service'

const vendorPattern = /^[a-z][a-z0-9]{1,31}$/

export const isVendor = (word: string): boolean => vendorPattern.test(word)

/** `x-service-version` with the vendor's own word. */
export const vendorHeader = (name: string, vendor: string): string => name.replace('x-service-', `x-${vendor}-`)

const vendorMembers = ['service_parameters', 'include_service_system_prompt'] as const

const renamed = (name: string, from: string, to: string): string =>
  vendorMembers.some(member => member.replace('service', from) === name) ? name.replace(from, to) : name

function renameMembers(value: unknown, from: string, to: string): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      const next = renamed(name, from, to)
      return [next, next === name ? member : renameMembers(member, from, to)]
    }),
  )
}

/** A JSON body as it goes on the wire of a vendor. */
export const toVendor = (body: unknown, vendor: string): unknown =>
  vendor === defaultVendor ? body : renameMembers(body, defaultVendor, vendor)

/** A JSON body of a vendor's wire in our words. */
export const fromVendor = (body: unknown, vendor: string): unknown =>
  vendor === defaultVendor ? body : renameMembers(body, vendor, defaultVendor)
