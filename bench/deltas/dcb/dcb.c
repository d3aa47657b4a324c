/* The judge of `dcb`: Google's decoder of Brotli with a raw dictionary attached (RFC 9841).
 *   dcb DICTIONARY < STREAM > CONTENT
 * The stream is what is behind the digest. Exit status 1 if it does not decode, is cut, or has bytes behind its end. */

#include <stdio.h>
#include <stdlib.h>

#include <brotli/decode.h>

static uint8_t *whole(FILE *file, size_t *length) {
    uint8_t *bytes = NULL;
    size_t room = 0;
    *length = 0;
    for (;;) {
        if (*length == room) {
            room = room ? 2 * room : 1 << 16;
            bytes = realloc(bytes, room);
            if (!bytes) exit(2);
        }
        size_t count = fread(bytes + *length, 1, room - *length, file);
        if (count == 0) return bytes;
        *length += count;
    }
}

int main(int count, char **words) {
    FILE *file = count == 2 ? fopen(words[1], "rb") : NULL;
    if (!file) {
        fprintf(stderr, "dcb: usage: dcb DICTIONARY < STREAM > CONTENT\n");
        return 2;
    }
    size_t dictionary_length, left;
    uint8_t *dictionary = whole(file, &dictionary_length);
    uint8_t *stream = whole(stdin, &left);
    const uint8_t *next = stream;
    BrotliDecoderState *state = BrotliDecoderCreateInstance(NULL, NULL, NULL);
    if (!state || !BrotliDecoderAttachDictionary(state, BROTLI_SHARED_DICTIONARY_RAW, dictionary_length, dictionary)) {
        fprintf(stderr, "dcb: the dictionary is not taken\n");
        return 2;
    }
    for (;;) {
        uint8_t content[1 << 16], *end = content;
        size_t room = sizeof content;
        BrotliDecoderResult result = BrotliDecoderDecompressStream(state, &left, &next, &room, &end, NULL);
        if (fwrite(content, 1, (size_t)(end - content), stdout) != (size_t)(end - content)) return 2;
        if (result == BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT) continue;
        if (result == BROTLI_DECODER_RESULT_SUCCESS && left == 0 && fflush(stdout) == 0) return 0;
        fprintf(stderr, "dcb: %s\n", result == BROTLI_DECODER_RESULT_SUCCESS ? "there are bytes behind the end"
            : result == BROTLI_DECODER_RESULT_ERROR ? BrotliDecoderErrorString(BrotliDecoderGetErrorCode(state)) : "it is cut");
        return 1;
    }
}
