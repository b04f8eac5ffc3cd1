import { toolSets } from '#toolkit/define.ts'
import type { ListedTool, Listing } from './listing.ts'

/** All that is served unless told, and all that there is. */
const everySet = ['default', 'all'] as const

/**
 * What of a listing is served for these words, names of tools or of sets, in the listing's own order; the default tools where
 * they are absent. A set has its default tools. Prompts and resources come with the tools that they need. Throws at an
 * unknown word.
 */
export function chooseTools(listing: Listing, words: readonly string[] = ['default']): Listing {
  const known = new Set<string>([...everySet, ...toolSets, ...listing.tools.map(({ name }) => name)])
  const strange = words.find(word => !known.has(word))
  if (strange !== undefined) {
    throw new Error(
      `There is no tool and no set \`${strange}\`; the sets are ${[...toolSets, ...everySet].join(', ')}, the tools ${listing.tools.map(({ name }) => name).join(', ')}.`,
    )
  }
  const chosen = new Set(words)
  const tools = listing.tools.filter(tool => isChosen(tool, chosen))
  const names = new Set(tools.map(({ name }) => name))
  const isOffered = ({ needs }: { needs: readonly string[] }) => needs.every(name => names.has(name))
  return {
    tools,
    prompts: listing.prompts.filter(isOffered),
    resources: listing.resources.filter(isOffered),
    resourceTemplates: listing.resourceTemplates.filter(isOffered),
  }
}

const isChosen = ({ name, set, isDefault }: ListedTool, chosen: ReadonlySet<string>): boolean =>
  chosen.has(name) || chosen.has('all') || (isDefault && (chosen.has('default') || chosen.has(set)))
