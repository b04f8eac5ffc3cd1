/** What a child process needs to start; keys and settings of the service are not for another program. */
const passed = ['PATH', 'Path', 'SystemRoot', 'TEMP', 'TMP', 'TMPDIR', 'LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH']

export const programEnvironment = (all: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv =>
  Object.fromEntries(passed.flatMap(name => (all[name] === undefined ? [] : [[name, all[name]]])))
