/** `owner/name` on GitHub, or empty if the build does not know it. */
export default { load: (): string => process.env.GITHUB_REPOSITORY ?? '' }
