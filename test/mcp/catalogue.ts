import { prompts } from '#prompts/table.generated.ts'
import { resources } from '#resources/table.generated.ts'
import type { Catalogue } from '#toolkit/define.ts'
import { tools } from '#tools/table.generated.ts'

export const catalogue: Catalogue = { tools, prompts, resources }
