import { prompts } from '#prompts/table.generated.ts'
import { resources } from '#resources/table.generated.ts'
import { tools } from '#tools/table.generated.ts'

export const catalogue = { tools, prompts, resources }
