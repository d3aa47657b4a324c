/* bcryptprimitives.dll for the tests under wine: Rust's std asks it for random bytes, and wine 8 has none. Windows has
   its own; this is never packed. */
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG length);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T length) {
  while (length > 0) {
    ULONG part = length > 0x10000 ? 0x10000 : (ULONG)length;
    if (!SystemFunction036(bytes, part))
      return FALSE;
    bytes += part;
    length -= part;
  }
  return TRUE;
}
