/** All of fetching one picture that a request names by its address; its caller waits. */
export const pictureFetchMs = 20_000
