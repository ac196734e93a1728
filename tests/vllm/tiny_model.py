"""Writes a two-layer Qwen3 with random weights: `python tiny_model.py FOLDER` (needs transformers)."""

from __future__ import annotations

import json
import sys
from pathlib import Path

CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
MARKERS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]


def write(folder: Path) -> None:
    """The model, its tokenizer (one token for each byte) and its chat template."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    byte_level = Tokenizer(models.BPE({byte: number for number, byte in enumerate(alphabet)}, merges=[]))
    byte_level.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    byte_level.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=byte_level,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=MARKERS,
    )
    tokenizer.chat_template = CHAT_TEMPLATE
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=320,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=32,  # The smallest that attention on a CPU is built for.
        max_position_embeddings=16384,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    Qwen3ForCausalLM(config).to(torch.bfloat16).save_pretrained(folder)
    # What a model brings along and nobody asked for (a run has to send every field itself).
    settings = {"temperature": 0.7, "top_k": 20, "repetition_penalty": 1.3}
    (folder / "generation_config.json").write_text(json.dumps(settings))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
