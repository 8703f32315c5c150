/** Calls `attempt` again after a pause that doubles, with some noise. */
export async function retryWithBackoff<T>(
  attempt: () => Promise<T>,
  times = 3,
  pauseMs = 100,
): Promise<T> {
  for (let n = 1; ; n++) {
    try {
      return await attempt();
    } catch (error) {
      if (n === times) throw error;
      await sleep(pauseMs * 2 ** n * (0.5 + Math.random()));
    }
  }
}

const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms));
