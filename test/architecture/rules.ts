import { unarmedModules } from './armed-rule.ts'
import { valueCycles } from './cycle-rule.ts'
import { crowdedRooms, folderCircles } from './folder-rule.ts'
import { bannedTerms } from './glossary.ts'
import { eagerCommands, wrongArrows, wrongPackages } from './import-rules.ts'
import { wrongNames } from './name-rule.ts'
import { wrongPartArrows } from './part-rule.ts'
import { longFiles, longFunctions } from './size-rules.ts'
import type { ParsedFile, Violation } from './source-file.ts'
import { stdoutWrites } from './stdout-rule.ts'

/** What is checked over all sources, by the sentence that a failing test shows. */
export const rules: Readonly<Record<string, (files: readonly ParsedFile[]) => Violation[]>> = {
  'rooms import along the arrows only': wrongArrows,
  'rooms import only the packages that they may': wrongPackages,
  'the parts of a folder import along the arrows only': wrongPartArrows,
  'the folders of a room need each other in no circle': folderCircles,
  'a room has at most 8 files beside its folders': crowdedRooms,
  'the frame of the commands loads no room at start': eagerCommands,
  'no two files need each other before either has run': valueCycles,
  'a file has at most 400 lines': longFiles,
  'a function has at most 70 lines': longFunctions,
  'only the stdio transport and the output of the commands write to stdout': stdoutWrites,
  'the harnesses of faults wrap what the product imports': unarmedModules,
  'files are named in kebab-case for what is in them': wrongNames,
  'names and sentences use the words of the glossary': bannedTerms,
}
