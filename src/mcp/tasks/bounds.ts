/** Longest id that is looked up; ours are a tool's name and a job's id. */
export const taskIdCharacters = 128

/** Of a task's state in words; assistants show a line. */
export const statusCharacters = 400
