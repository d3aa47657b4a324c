export const known = [];
